package buckets

import (
	"bytes"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// Script is the one script of all algorithms. It needs Redis 5 or later.
//
// Redis runs it from the top each time, so what a run does not need it does not
// reach: an algorithm is built when a limit names it, and what decides any calls
// comes after what decides plain ones, which returns.
func Script() string {
	var b strings.Builder
	b.WriteString(luaFile("prelude"))
	b.WriteString("\nlocal function flow()\n" + luaFile("flow") + "end\n")
	b.WriteString("\nlocal function new_algorithm(number)\n")
	for i := range algorithms {
		fmt.Fprintf(&b, "if number == %d then\n%send\n", i+1, luaFile(algorithms[i].name))
	}
	b.WriteString("end\n\n" + luaFile("state"))
	b.WriteString("\nif plain == 1 then\n" + luaFile("plain") + "end\n")
	b.WriteString("\n" + luaFile("mixed"))
	return b.String()
}

// luaFile returns "" for a file that is not there; a test holds the files to
// the table.
func luaFile(stem string) string {
	text, _ := luaFiles.ReadFile("lua/" + stem + ".lua")
	return string(text)
}

// ScriptCalls packs calls for the script. The packed form, big endian:
//
//	plain u8       1 if each call is one enforced take, and each bucket is
//	               under one limit throughout; else 0
//	calls u16, limits u16, then each limit:
//	  algorithm u8, align u8, amount u32, capacity u32, most used u64,
//	  window u64, step µs u64, hits a step u64
//	then for each call: items u16, then for each item:
//	  key u16        position in KEYS, from 1
//	  flags u8       op + 4·role + 16·charged
//	  hits u64
//	  limit u16      from 1
//	  at u64         GiveBack only
//	  bounds 4·u64   calendar windows only
//
// and the script's answer:
//
//	time u64, foreign values overwritten u32, then for each item:
//	  flags u8       1 allowed, 2 charged, 4 the call is denied, 8 a newer
//	                 layout is in the way of the call
//	  remaining u32, reset u64, time of the bucket u64
//
// The zero value is ready. It is not safe for concurrent use.
type ScriptCalls struct {
	known  []*Limit
	limits []byte // packed, in the order of known
	items  []byte
	packed []byte
	calls  int

	mixed bool     // not plain
	under []uint16 // the limit of each bucket, by slot, while it is plain
}

// MaxScriptKeys is how many keys one run of the script takes.
const MaxScriptKeys = 4096

// Reset drops all calls.
func (p *ScriptCalls) Reset() {
	clear(p.known)
	p.known, p.limits, p.items, p.calls = p.known[:0], p.limits[:0], p.items[:0], 0
	p.mixed, p.under = false, p.under[:0]
}

// Len is the number of calls added.
func (p *ScriptCalls) Len() int { return p.calls }

// Add appends a call; slots says for each item the position of its key among the
// script's KEYS, from 0.
func (p *ScriptCalls) Add(items []Item, slots []int) {
	p.calls++
	p.items = binary.BigEndian.AppendUint16(p.items, uint16(len(items)))
	p.mixed = p.mixed || len(items) != 1
	for i := range items {
		p.addItem(&items[i], slots[i]+1)
	}
}

// Packed is the script's first argument. It is valid until the next Reset.
func (p *ScriptCalls) Packed() []byte {
	plain := byte(1)
	if p.mixed {
		plain = 0
	}
	p.packed = append(p.packed[:0], plain)
	p.packed = binary.BigEndian.AppendUint16(p.packed, uint16(p.calls))
	p.packed = binary.BigEndian.AppendUint16(p.packed, uint16(len(p.known)))
	p.packed = append(p.packed, p.limits...)
	p.packed = append(p.packed, p.items...)
	return p.packed
}

func (p *ScriptCalls) addItem(item *Item, position int) {
	flags := byte(item.Op) | byte(item.Role)<<2
	if item.Charged {
		flags |= 1 << 4
	}
	p.items = binary.BigEndian.AppendUint16(p.items, uint16(position))
	p.items = append(p.items, flags)
	p.items = binary.BigEndian.AppendUint64(p.items, item.Hits)
	limit := p.number(item.Limit)
	p.items = binary.BigEndian.AppendUint16(p.items, uint16(limit))
	p.mixed = p.mixed || !p.isPlain(item, position-1, uint16(limit))
	if item.Op == GiveBack {
		p.items = binary.BigEndian.AppendUint64(p.items, uint64(item.AtMicros))
	}
	if item.Limit.Align == AlignCalendar {
		for _, edge := range item.Bounds {
			p.items = binary.BigEndian.AppendUint64(p.items, uint64(edge))
		}
	}
}

// isPlain tells whether an item of a call of one is what the script has the short
// way for.
func (p *ScriptCalls) isPlain(item *Item, slot int, limit uint16) bool {
	if item.Op != Take || item.Role != Enforced || item.Limit.Align == AlignCalendar || slot > len(p.under) {
		return false
	}
	if slot == len(p.under) {
		p.under = append(p.under, limit)
	}
	return p.under[slot] == limit
}

// number is the place of a limit, from 1. Limits that say the same share one, so
// that the script ages their buckets once.
func (p *ScriptCalls) number(l *Limit) int {
	for i, known := range p.known {
		if known == l {
			return i + 1
		}
	}
	from := len(p.limits)
	p.limits = l.appendPacked(p.limits)
	packed := p.limits[from:]
	for i := range p.known {
		if bytes.Equal(p.limits[i*packedLimit:(i+1)*packedLimit], packed) {
			p.limits = p.limits[:from]
			return i + 1
		}
	}
	p.known = append(p.known, l)
	return len(p.known)
}

// packedLimit is the size of what appendPacked appends.
const packedLimit = 1 + 1 + 4 + 4 + 8 + 8 + 8 + 8

func (l *Limit) appendPacked(dst []byte) []byte {
	step := l.RefillMicros
	if l.Algorithm == GCRA {
		step = l.emissionMicros
	}
	dst = append(dst, byte(l.Algorithm), byte(l.Align))
	dst = binary.BigEndian.AppendUint32(dst, uint32(l.Amount))
	dst = binary.BigEndian.AppendUint32(dst, uint32(l.capacity))
	dst = binary.BigEndian.AppendUint64(dst, l.maxUsed())
	dst = binary.BigEndian.AppendUint64(dst, uint64(l.WindowMicros))
	dst = binary.BigEndian.AppendUint64(dst, uint64(step))
	return binary.BigEndian.AppendUint64(dst, l.stepHits)
}

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
