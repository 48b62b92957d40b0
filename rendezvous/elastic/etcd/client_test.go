package etcd

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// member plays an etcd that gives one answer, and keeps what it was asked.
func member(t *testing.T, code int, answer string, asked *[]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if asked != nil {
			*asked = append(*asked, r.Method+" "+r.URL.Path+" "+string(body))
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func client(t *testing.T, endpoints ...string) *Client {
	t.Helper()
	c, err := New(strings.Join(endpoints, ","), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestRequests(t *testing.T) {
	for _, c := range []struct {
		name   string
		call   func(context.Context, *Client) (any, error)
		answer string
		asked  string
		want   any
	}{
		{
			"grant", func(ctx context.Context, c *Client) (any, error) { return c.Grant(ctx, 14500*time.Millisecond) },
			`{"ID":"7587","TTL":"15"}`, `POST /v3/lease/grant {"TTL":15}`, LeaseID(7587),
		},
		{
			"keep alive", func(ctx context.Context, c *Client) (any, error) { return nil, c.KeepAlive(ctx, 7587) },
			`{"result":{"ID":"7587","TTL":"15"}}`, `POST /v3/lease/keepalive {"ID":7587}`, nil,
		},
		{
			"revoke", func(ctx context.Context, c *Client) (any, error) { return nil, c.Revoke(ctx, 7587) },
			`{"header":{}}`, `POST /v3/lease/revoke {"ID":7587}`, nil,
		},
		{
			"get", func(ctx context.Context, c *Client) (any, error) {
				v, ok, err := c.Get(ctx, "key")
				return []any{v, ok}, err
			},
			`{"kvs":[{"key":"a2V5","value":"dmFsdWU="}],"count":"1"}`, `POST /v3/kv/range {"key":"a2V5"}`,
			[]any{"value", true},
		},
		{
			"get nothing", func(ctx context.Context, c *Client) (any, error) {
				v, ok, err := c.Get(ctx, "key")
				return []any{v, ok}, err
			},
			`{"header":{}}`, `POST /v3/kv/range {"key":"a2V5"}`,
			[]any{"", false},
		},
		{
			"create", func(ctx context.Context, c *Client) (any, error) { return c.Create(ctx, "key", "value", 9) },
			`{"succeeded":true}`,
			`POST /v3/kv/txn {"compare":[{"create_revision":0,"key":"a2V5","result":"EQUAL","target":"CREATE"}],` +
				`"success":[{"request_put":{"key":"a2V5","lease":9,"value":"dmFsdWU="}}]}`, true,
		},
		{
			"create too late", func(ctx context.Context, c *Client) (any, error) { return c.Create(ctx, "", "", 9) },
			`{"header":{}}`,
			`POST /v3/kv/txn {"compare":[{"create_revision":0,"key":"","result":"EQUAL","target":"CREATE"}],` +
				`"success":[{"request_put":{"key":"","lease":9,"value":""}}]}`, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []string
			got, err := c.call(t.Context(), client(t, member(t, 200, c.answer, &asked)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{c.asked}, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnotherMemberIsAsked(t *testing.T) {
	lost := httptest.NewServer(nil)
	lost.Close()
	good := member(t, 200, `{"ID":"7"}`, nil)
	for name, bad := range map[string]string{
		"gone":        lost.URL,
		"unavailable": member(t, 503, `{"message":"etcdserver: no leader"}`, nil),
		"garbled":     member(t, 200, `{"ID":`, nil),
	} {
		if lease, err := client(t, bad, good).Grant(t.Context(), time.Second); err != nil || lease != 7 {
			t.Errorf("%s: got %d, %v", name, lease, err)
		}
		if _, err := client(t, bad).Grant(t.Context(), time.Second); err == nil {
			t.Errorf("%s: no error without another member", name)
		}
	}
}

func TestErrors(t *testing.T) {
	var asked []string
	refuses := member(t, 400, `{"message":"etcdserver: lease already exists"}`, nil)
	_, err := client(t, refuses, member(t, 200, `{"ID":"7"}`, &asked)).Grant(t.Context(), time.Second)
	if err == nil || !strings.Contains(err.Error(), "HTTP 400") || len(asked) > 0 {
		t.Errorf("a refusal: got %v, and asked another member %q", err, asked)
	}
	if err := client(t, member(t, 200, `{"result":{"ID":"7"}}`, nil)).KeepAlive(t.Context(), 7); !errors.Is(err,
		ErrLease) {
		t.Errorf("an expired lease: got %v, want %v", err, ErrLease)
	}
}
