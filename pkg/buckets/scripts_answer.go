package buckets

import "errors"

// ScriptAnswer reads the script's answer.
type ScriptAnswer struct {
	AtMicros int64  // the store's time
	Foreign  uint32 // values that were not ours and were overwritten
	rest     string
}

var errShortAnswer = errors.New("the script's answer is cut short")

const (
	answerHead = 12
	answerItem = 21
)

// ReadScriptAnswer begins to read an answer.
func ReadScriptAnswer(reply string) (ScriptAnswer, error) {
	if len(reply) < answerHead {
		return ScriptAnswer{}, errShortAnswer
	}
	return ScriptAnswer{
		AtMicros: int64(readUint64(reply)),
		Foreign:  readUint32(reply[8:]),
		rest:     reply[answerHead:],
	}, nil
}

// Next reads the answer to the next call in the order in which they were added.
// A call that met a newer layout gets Err.
func (a *ScriptAnswer) Next(call *Call) error {
	size := answerItem * len(call.Items)
	if len(a.rest) < size {
		return errShortAnswer
	}
	answer := a.rest[:size]
	call.AtMicros, call.Denied, call.Err = a.AtMicros, false, nil
	if size > 0 {
		call.Denied = answer[0]&4 != 0
		if answer[0]&8 != 0 {
			call.Err = &StoreError{Kind: KindLayout, Err: ErrNewer}
		}
	}
	for i := range call.Items {
		item := answer[i*answerItem:]
		call.Items[i].Verdict = Verdict{
			Allowed:     item[0]&1 != 0,
			Charged:     item[0]&2 != 0,
			Remaining:   uint64(readUint32(item[1:])),
			ResetMicros: int64(readUint64(item[5:])),
			AtMicros:    int64(readUint64(item[13:])),
		}
	}
	a.rest = a.rest[size:]
	return nil
}

func readUint32(s string) uint32 {
	return uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3])
}

func readUint64(s string) uint64 {
	return uint64(readUint32(s))<<32 | uint64(readUint32(s[4:]))
}
