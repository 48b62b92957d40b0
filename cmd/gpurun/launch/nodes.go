package launch

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/node"
	"gpurun/cmd/gpurun/torchrun"
	"gpurun/rendezvous/elastic"
)

// meetingOf is how the agents of several machines meet, by torchrun's flags.
func (p *command) meetingOf(s told) (*elastic.Config, error) {
	t, err := node.ReadCredentials(s.sources, p.config.Credentials, "")
	if err != nil {
		return nil, err
	}
	o := p.options
	m := &elastic.Config{
		Token: t.Token, TLS: t.TLS, RunID: cmp.Or(o.RdzvID, "none"),
		MinNodes: o.NNodes.Min, MaxNodes: o.NNodes.Max, MaxRestarts: o.MaxRestarts,
		NodeRank: o.NodeRank, Workers: p.workers, Role: o.Role, LocalAddr: o.LocalAddr,
	}
	var host string
	var port int
	if m.Backend, host, port = meetingPoint(o); host == "" {
		return nil, exit.Usagef("--rdzv-backend %s: set --rdzv-endpoint host:port, where the nodes meet", o.RdzvBackend)
	}
	if m.Backend == elastic.Static {
		m.MasterPort = (port + 1) % (1 << 16) // as the ranks of a collective, where a firewall can expect it
	}
	if m.Backend != elastic.Etcd {
		if err := t.Check(host, s.step != nil); err != nil {
			return nil, err
		}
	}
	m.Endpoint = net.JoinHostPort(host, strconv.Itoa(port))
	if m.EtcdTLS, err = etcdTLS(o.RdzvConf); err != nil {
		return nil, err
	}
	if p.unused, err = setConf(m, time.Duration(p.config.JoinTimeout), o.RdzvConf); err != nil {
		return nil, err
	}
	if err := m.Check(); err != nil {
		return nil, exit.Usagef("%w", err)
	}
	return m, nil
}

// meetingPoint is the rendezvous backend and its address. The host is empty if it is not set.
func meetingPoint(o *torchrun.Options) (backend elastic.Backend, host string, port int) {
	host = o.RdzvEndpoint.Host
	switch o.RdzvBackend {
	case "c10d":
		backend, port = elastic.C10d, 29400
	case "static":
		backend, host, port = elastic.Static, cmp.Or(host, o.MasterAddr), o.MasterPort
	default:
		backend, port = elastic.Etcd, 2379
	}
	if o.RdzvEndpoint.HasPort {
		port = o.RdzvEndpoint.Port
	}
	return backend, host, port
}

// hostings are the words for is_host, as torchrun takes them.
var hostings = map[string]elastic.Hosting{
	"1": elastic.HostYes, "true": elastic.HostYes, "t": elastic.HostYes, "yes": elastic.HostYes, "y": elastic.HostYes,
	"0": elastic.HostNever, "false": elastic.HostNever, "f": elastic.HostNever, "no": elastic.HostNever,
	"n": elastic.HostNever,
}

// setConf applies --rdzv-conf: time-outs in seconds, and which agent may serve. Without join_timeout, nodes wait for
// each other for `join`, or, if that is 0, as long as torchrun's. It returns a sentence for each setting without
// effect.
func setConf(m *elastic.Config, join time.Duration, conf map[string]string) (unused []string, err error) {
	m.Timeouts = elastic.DefaultTimeouts()
	m.Timeouts.Join = cmp.Or(join, m.Timeouts.Join)
	seconds := map[string]*time.Duration{
		"join_timeout": &m.Timeouts.Join, "last_call_timeout": &m.Timeouts.LastCall, "close_timeout": &m.Timeouts.Close,
		"read_timeout": &m.Timeouts.Read, "keep_alive_interval": &m.Timeouts.KeepAliveInterval, "timeout": &m.Timeouts.Join,
	}
	for _, key := range slices.Sorted(maps.Keys(conf)) {
		value, bad := conf[key], fmt.Errorf("--rdzv-conf %s=%s", key, conf[key])
		switch to, known := seconds[key]; {
		case known:
			n, err := strconv.ParseFloat(value, 64)
			if err != nil || n <= 0 || n > 1e6 {
				return nil, exit.Usagef("%v: the value must be a number of seconds above 0", bad)
			}
			*to = time.Duration(n * float64(time.Second))
		case key == "keep_alive_max_attempt":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return nil, exit.Usagef("%v: the value must be a number of 1 or more", bad)
			}
			m.Timeouts.KeepAliveTries = n
		case key == "is_host":
			hosting, known := hostings[strings.ToLower(value)]
			if !known {
				return nil, exit.Usagef("%v: the value must be true or false", bad)
			}
			m.Hosting = hosting
		case m.Backend == elastic.Etcd && slices.Contains(etcdTLSKeys(), key):
		default:
			unused = append(unused, fmt.Sprintf("--rdzv-conf %s=%s has no effect with --rdzv-backend %s", key, value, m.Backend))
		}
	}
	return unused, nil
}
