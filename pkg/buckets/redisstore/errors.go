package redisstore

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// replyKinds sorts Redis' error replies by their first word.
var replyKinds = map[string]buckets.ErrorKind{
	"READONLY":    buckets.KindReadonly,
	"OOM":         buckets.KindMemory,
	"LOADING":     buckets.KindLoading,
	"MASTERDOWN":  buckets.KindLoading,
	"NOAUTH":      buckets.KindAuth,
	"WRONGPASS":   buckets.KindAuth,
	"NOPERM":      buckets.KindAuth,
	"CLUSTERDOWN": buckets.KindCluster,
	"CROSSSLOT":   buckets.KindCluster,
	"MOVED":       buckets.KindCluster,
	"ASK":         buckets.KindCluster,
	"TRYAGAIN":    buckets.KindCluster,
}

// storeError sorts an error of a script run. The text of a reply is cut to its
// first word: what follows may hold keys.
func storeError(err error) *buckets.StoreError {
	if reply, ok := errors.AsType[redis.Error](err); ok {
		word, _, _ := strings.Cut(reply.Error(), " ")
		kind, known := replyKinds[word]
		if !known {
			kind = buckets.KindScript
		}
		return &buckets.StoreError{Kind: kind, Err: errors.New("Redis answered " + word)}
	}
	if netErr, ok := errors.AsType[net.Error](err); ok && netErr.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return &buckets.StoreError{Kind: buckets.KindTimeout, Err: err}
	}
	if errors.Is(err, redis.ErrClosed) {
		return &buckets.StoreError{Kind: buckets.KindClosed}
	}
	return &buckets.StoreError{Kind: buckets.KindConnection, Err: err}
}

// isReply tells whether Redis itself answered: the connection works.
func isReply(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

func isNoScript(err error) bool { return isReply(err) && strings.HasPrefix(err.Error(), "NOSCRIPT") }
