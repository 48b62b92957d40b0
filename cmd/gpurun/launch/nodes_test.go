package launch

import (
	"testing"
	"time"

	"gpurun/rendezvous/elastic"
)

func TestConfTakesTorchrunsWordsForHosting(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]elastic.Hosting{
		"1": elastic.HostYes, "True": elastic.HostYes, "t": elastic.HostYes, "YES": elastic.HostYes, "y": elastic.HostYes,
		"0": elastic.HostNever, "false": elastic.HostNever, "F": elastic.HostNever, "no": elastic.HostNever,
		"n": elastic.HostNever,
	} {
		m := elastic.Config{Backend: elastic.C10d}
		unused, err := setConf(&m, time.Minute, map[string]string{"is_host": word})
		if err != nil || len(unused) > 0 || m.Hosting != want {
			t.Errorf("%q: hosting %v, want %v; unused %v; %v", word, m.Hosting, want, unused, err)
		}
	}
	if _, err := setConf(&elastic.Config{}, time.Minute, map[string]string{"is_host": "maybe"}); err == nil {
		t.Error("took is_host=maybe")
	}
}
