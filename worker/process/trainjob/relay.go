package trainjob

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// maxBody is the controller's limit of a request, in bytes.
const maxBody = 64 << 10

// upstream is the controller's endpoint.
type upstream struct {
	url, token string
	client     *http.Client
}

func newUpstream(url, ca, token string) (upstream, error) {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return upstream{}, fmt.Errorf("reading %s: %w", CAVariable, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return upstream{}, fmt.Errorf("%s: %s has no certificate", CAVariable, ca)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}
	return upstream{url, token, &http.Client{Transport: transport}}, nil
}

// answer is what the controller has said.
type answer struct {
	code int
	body []byte
}

// post sends a report. The token is read each time. An answer other than 200 is an error, too.
func (u upstream) post(ctx context.Context, message []byte) (answer, error) {
	token, err := os.ReadFile(u.token)
	if err != nil {
		return answer{}, fmt.Errorf("reading %s: %w", TokenVariable, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url, bytes.NewReader(message))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/json")
	response, err := u.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", u.url, response.Status, clip(string(body)))
	}
	return answer{response.StatusCode, body}, err
}

// handler takes the workers' reports, and passes them on.
func (r *Reporter) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+r.path, func(w http.ResponseWriter, incoming *http.Request) {
		message, err := io.ReadAll(http.MaxBytesReader(w, incoming.Body, maxBody))
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		r.posting.Lock()
		defer r.posting.Unlock()
		var from request
		if json.Unmarshal(message, &from) == nil && from.Status != nil {
			message = r.remember(from.Status, message)
		}
		ctx, cancel := context.WithTimeout(incoming.Context(), postTimeout)
		defer cancel()
		to, err := r.upstream.post(ctx, message)
		r.failed(err)
		if to.code == 0 {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(to.code)
		_, _ = w.Write(to.body) // the worker may have gone
	})
	return mux
}

// remember keeps a status of the workers for later reports, and returns the message to pass on.
func (r *Reporter) remember(s status, message []byte) []byte {
	r.mu.Lock()
	r.status = s
	r.mu.Unlock()
	if merged, ours := r.merged(); ours {
		return merged
	}
	return message
}
