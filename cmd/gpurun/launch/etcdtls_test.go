package launch

import (
	"strings"
	"testing"

	"gpurun/cmd/gpurun/exit"
	"gpurun/rendezvous/transport/certtest"
)

func TestEtcdTLS(t *testing.T) {
	files := certtest.New(t).Node(nil)
	both := files.Cert + ".both"
	for name, tt := range map[string]struct {
		conf map[string]string
		tls  bool
		want string // of the error
	}{
		"nothing":    {map[string]string{"join_timeout": "5"}, false, ""},
		"plain text": {map[string]string{"protocol": "http"}, false, ""},
		"https":      {map[string]string{"protocol": "https"}, true, ""},
		"all": {
			map[string]string{"protocol": "https", "cacert": files.CA, "cert": files.Cert, "key": files.Key}, true, "",
		},
		"no https": {map[string]string{"cacert": files.CA}, false, "protocol=https must be set too"},
		"no protocol": {
			map[string]string{"protocol": "gopher"}, false, "protocol=gopher: the protocol must be http or https",
		},
		"no authority": {
			map[string]string{"protocol": "https", "cacert": files.Key}, false, "the file has no certificate in PEM",
		},
		"no file": {map[string]string{"protocol": "https", "cacert": both}, false, both},
		"no key": {
			map[string]string{"protocol": "https", "cert": files.Cert}, false, "found a certificate rather than a key",
		},
		"no certificates": {map[string]string{"protocol": "https", "cert": both, "key": files.Key}, false, both},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := etcdTLS(tt.conf)
			if (c != nil) != tt.tls || (err != nil) != (tt.want != "") {
				t.Fatalf("got %v, %v", c, err)
			}
			if err != nil && (exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if tt.conf["cert"] != "" && err == nil && (len(c.Certificates) != 1 || c.RootCAs == nil) {
				t.Errorf("got %+v", c)
			}
		})
	}
}
