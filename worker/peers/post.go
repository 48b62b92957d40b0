package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Unlike the other exchanges, posts do not need all ranks: a rank learns what those have said that did.

// postTime bounds a look at what was posted, and the wait for the others to have looked.
const postTime = 300 * time.Millisecond

// postKey is where a rank posts. Below the topic itself is a mark that some rank has, and below readKey one that the
// rank has read the posts of the others.
func postKey(topic string, rank int) string { return fmt.Sprintf("%s/%d", topic, rank) }

func readKey(topic string, rank int) string { return fmt.Sprintf("%s/%d/read", topic, rank) }

// Posted reports whether any rank has posted under a topic. It is false where that cannot be known.
func (p *Peers) Posted(ctx context.Context, topic string) bool {
	if p.group == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	_, err := p.group.Store().Get(ctx, topic)
	return err == nil
}

// Posts posts something under a topic, waits until all ranks have done so, for a limited time, and returns what was
// posted, by rank; nil is nothing. Values travel as JSON. Before it returns, it waits likewise for the others to have
// read the posts: a rank that leaves ends the exchange for all.
func Posts[T any](ctx context.Context, p *Peers, topic string, mine T, limit time.Duration) []*T {
	all := make([]*T, p.options.WorldSize)
	data, err := json.Marshal(mine)
	if err != nil || p.group == nil {
		return all
	}
	store, own := p.group.Store(), p.options.Rank
	var posts, reads []string
	for rank := range all {
		posts = append(posts, postKey(topic, rank))
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if store.Set(waiting, posts[own], data) == nil && store.Set(waiting, topic, nil) == nil {
		_ = store.Wait(waiting, posts...) // who does not come has posted nothing
	}
	ending, stop := context.WithTimeout(ctx, postTime)
	defer stop()
	for rank, key := range posts {
		var posted T
		if data, err := store.Get(ending, key); err == nil && json.Unmarshal(data, &posted) == nil {
			all[rank] = &posted
			reads = append(reads, readKey(topic, rank))
		}
	}
	if store.Set(ending, readKey(topic, own), nil) == nil {
		_ = store.Wait(ending, reads...) // who has read all may leave before the answer comes
	}
	return all
}
