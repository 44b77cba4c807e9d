package buckets

import (
	"bytes"
	"embed"
	"encoding/binary"
	"fmt"
	"slices"
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

	byLimit  map[*Limit]int // place in known, from 1; kept once known is long
	byPacked map[string]int

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
	clear(p.byLimit)
	clear(p.byPacked)
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
	if n := p.place(l); n > 0 {
		return n
	}
	from := len(p.limits)
	p.limits = l.appendPacked(p.limits)
	n := p.placeOf(p.limits[from:])
	if n > 0 {
		p.limits = p.limits[:from]
		return n
	}
	p.known = append(p.known, l)
	p.index(len(p.known) - 1)
	return len(p.known)
}

// fewLimits are faster to walk than to look up.
const fewLimits = 32

func (p *ScriptCalls) place(l *Limit) int {
	if len(p.known) > fewLimits {
		return p.byLimit[l]
	}
	return slices.Index(p.known, l) + 1
}

func (p *ScriptCalls) placeOf(packed []byte) int {
	if len(p.known) > fewLimits {
		return p.byPacked[string(packed)]
	}
	for i := range p.known {
		if bytes.Equal(p.packedOf(i), packed) {
			return i + 1
		}
	}
	return 0
}

func (p *ScriptCalls) packedOf(i int) []byte { return p.limits[i*packedLimit : (i+1)*packedLimit] }

// index enters what is known at i, and at the step from few to many all before it.
func (p *ScriptCalls) index(i int) {
	if i < fewLimits {
		return
	}
	if p.byLimit == nil {
		p.byLimit, p.byPacked = map[*Limit]int{}, map[string]int{}
	}
	if i == fewLimits {
		for before := range i {
			p.byLimit[p.known[before]], p.byPacked[string(p.packedOf(before))] = before+1, before+1
		}
	}
	p.byLimit[p.known[i]], p.byPacked[string(p.packedOf(i))] = i+1, i+1
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
