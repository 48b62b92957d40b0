package flight

import "fmt"

// fromPickle takes the fields of a recording out of a pickle. A field of another type than PyTorch's counts as missing.
func fromPickle(in []byte) (recording, error) {
	v, err := unpickle(in)
	if err != nil {
		return recording{}, err
	}
	top, ok := v.(*dict)
	if !ok {
		return recording{}, fmt.Errorf("%w: a %T in place of a dictionary", errPickle, v)
	}
	r := recording{Groups: map[string]struct {
		Ranks string `json:"ranks"`
	}{}}
	r.Version, _ = top.get("version").(string)
	if groups, ok := top.get("pg_config").(*dict); ok {
		for i, key := range groups.keys {
			name, _ := key.(string)
			group := r.Groups[name]
			if info, ok := groups.values[i].(*dict); ok {
				group.Ranks, _ = info.get("ranks").(string)
			}
			r.Groups[name] = group
		}
	}
	entries := items(top.get("entries"))
	for _, v := range entries[max(0, len(entries)-mostEntries):] {
		if d, ok := v.(*dict); ok {
			r.Entries = append(r.Entries, toEntry(d))
		}
	}
	return r, nil
}

func toEntry(d *dict) entry {
	e := entry{Group: texts(d.get("process_group")), Types: texts(d.get("input_dtypes"))}
	e.Sequence, _ = d.get("collective_seq_id").(int64)
	e.P2P, _ = d.get("p2p_seq_id").(int64)
	e.IsP2P, _ = d.get("is_p2p").(bool)
	e.Name, _ = d.get("profiling_name").(string)
	e.Created, _ = d.get("time_created_ns").(int64)
	e.State, _ = d.get("state").(string)
	for _, size := range first(items(d.get("input_sizes")), mostTensors) {
		var dims []int64
		for _, dim := range first(items(size), mostDims) {
			n, _ := dim.(int64)
			dims = append(dims, n)
		}
		e.Sizes = append(e.Sizes, dims)
	}
	for _, v := range first(items(d.get("frames")), mostFrames) {
		var f frame
		if d, ok := v.(*dict); ok {
			f.Function, _ = d.get("name").(string)
			f.File, _ = d.get("filename").(string)
			f.Line, _ = d.get("line").(int64)
		}
		e.Frames = append(e.Frames, f)
	}
	return e
}

// items are those of a list or tuple.
func items(v any) []any {
	if l, ok := v.(*list); ok {
		return l.items
	}
	return nil
}

func first(values []any, most int) []any { return values[:min(len(values), most)] }

// texts are the first strings of a list or tuple.
func texts(v any) (all []string) {
	for _, item := range first(items(v), mostTensors) {
		text, _ := item.(string)
		all = append(all, text)
	}
	return all
}
