// Package etcd is as much of a client of etcd as an election needs: leases,
// and keys that vanish with them.
//
// It speaks the JSON form of etcd's v3 API, which every etcd since 3.4 serves
// next to gRPC. The official client would bring seven modules for five calls.
package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// ErrLease says that a lease has expired, or was revoked.
var ErrLease = errors.New("the lease has expired")

// maxResponseBytes bounds what is read of an answer.
const maxResponseBytes = 1 << 20

// LeaseID names a lease.
type LeaseID int64

// Client calls an etcd cluster. It is safe for concurrent use.
type Client struct {
	urls []string
	http *http.Client
}

// New returns a client of the members at the endpoints: host:port, or a URL,
// separated by commas. Security is for URLs of https, and makes one of host:port.
// Nothing is sent before the first call.
func New(endpoints string, security *tls.Config) (*Client, error) {
	c := &Client{http: &http.Client{Transport: &http.Transport{
		Proxy:                 nil, // a proxy has no business between nodes
		TLSClientConfig:       security,
		ResponseHeaderTimeout: 10 * time.Second,
		MaxIdleConnsPerHost:   2,
		IdleConnTimeout:       time.Minute,
	}}}
	scheme := "http://"
	if security != nil {
		scheme = "https://"
	}
	for endpoint := range strings.SplitSeq(endpoints, ",") {
		endpoint = strings.TrimSuffix(strings.TrimSpace(endpoint), "/")
		if endpoint == "" {
			return nil, fmt.Errorf("etcd endpoints %q: want host:port, separated by commas", endpoints)
		}
		if !strings.Contains(endpoint, "://") {
			endpoint = scheme + endpoint
		}
		c.urls = append(c.urls, endpoint)
	}
	return c, nil
}

// Close gives back the connections that are kept open.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Grant makes a lease. It lasts for the duration, rounded up to seconds, since
// the last KeepAlive.
func (c *Client) Grant(ctx context.Context, ttl time.Duration) (LeaseID, error) {
	seconds := int64((ttl + time.Second - 1) / time.Second)
	var answer struct {
		ID LeaseID `json:"ID,string"`
	}
	if err := c.call(ctx, "lease/grant", map[string]any{"TTL": seconds}, &answer); err != nil {
		return 0, fmt.Errorf("granting a lease: %w", err)
	}
	return answer.ID, nil
}

// KeepAlive renews a lease. It returns ErrLease when it is too late.
func (c *Client) KeepAlive(ctx context.Context, lease LeaseID) error {
	var answer struct {
		Result struct {
			TTL int64 `json:"TTL,string"`
		} `json:"result"`
	}
	if err := c.call(ctx, "lease/keepalive", map[string]any{"ID": lease}, &answer); err != nil {
		return fmt.Errorf("keeping a lease: %w", err)
	}
	if answer.Result.TTL <= 0 {
		return fmt.Errorf("keeping a lease: %w", ErrLease)
	}
	return nil
}

// Revoke ends a lease; its keys vanish.
func (c *Client) Revoke(ctx context.Context, lease LeaseID) error {
	if err := c.call(ctx, "lease/revoke", map[string]any{"ID": lease}, &struct{}{}); err != nil {
		return fmt.Errorf("revoking a lease: %w", err)
	}
	return nil
}

// keyValue is a key with its value; JSON carries bytes in base64.
type keyValue struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// Get returns a key's value, and whether the key exists.
func (c *Client) Get(ctx context.Context, key string) (string, bool, error) {
	var answer struct {
		KVs []keyValue `json:"kvs"`
	}
	if err := c.call(ctx, "kv/range", map[string]any{"key": []byte(key)}, &answer); err != nil {
		return "", false, fmt.Errorf("reading key %q: %w", key, err)
	}
	if len(answer.KVs) == 0 {
		return "", false, nil
	}
	return string(answer.KVs[0].Value), true, nil
}

// Create makes a key for as long as the lease lasts, unless the key exists. It
// returns whether it did.
func (c *Client) Create(ctx context.Context, key, value string, lease LeaseID) (bool, error) {
	request := map[string]any{
		"compare": []any{map[string]any{
			"key": []byte(key), "target": "CREATE", "result": "EQUAL", "create_revision": 0,
		}},
		"success": []any{map[string]any{"request_put": map[string]any{
			"key": []byte(key), "value": []byte(value), "lease": lease,
		}}},
	}
	var answer struct {
		Succeeded bool `json:"succeeded"`
	}
	if err := c.call(ctx, "kv/txn", request, &answer); err != nil {
		return false, fmt.Errorf("creating key %q: %w", key, err)
	}
	return answer.Succeeded, nil
}

// call asks one member after the other until one answers. All calls may be
// repeated: a key whose creation was done, but the answer lost, looks like
// another's, and vanishes with the lease that the caller then gives up.
func (c *Client) call(ctx context.Context, method string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	var errs []error
	for _, url := range c.urls {
		err := c.post(ctx, url+"/v3/"+method, body, answer)
		refused := new(refusal)
		if err == nil || errors.As(err, &refused) && !refused.unavailable() {
			return err
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

func (c *Client) post(ctx context.Context, url string, body []byte, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("no etcd answers; does one run there, and does no firewall stand between? %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes))
	if err != nil {
		return fmt.Errorf("etcd at %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return &refusal{url: url, code: response.StatusCode, text: string(text[:min(len(text), 300)])}
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("etcd at %s: reading the answer: %w", url, err)
	}
	return nil
}

// refusal is an answer that is an error.
type refusal struct {
	url  string
	code int
	text string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("etcd at %s: HTTP %d: %s", r.url, r.code, r.text)
}

// unavailable says whether another member may know better.
func (r *refusal) unavailable() bool { return r.code >= http.StatusInternalServerError }
