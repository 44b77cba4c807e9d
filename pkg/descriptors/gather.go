package descriptors

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// unit is what is compiled at once, and rejected at once: one domain.
type unit struct {
	name      string
	documents []*document // by file, in the order of the file
	rejected  bool
}

// fileSet is a set of files after parsing.
type fileSet struct {
	domains map[string]*unit
	files   map[string][]string // the domains of each file
	half    map[string]string   // files that look half-written, and why
	unknown bool                // some rejected file's domain cannot be told
}

func (s *fileSet) unit(name string) *unit {
	u := s.domains[name]
	if u == nil {
		u = &unit{name: name}
		s.domains[name] = u
	}
	return u
}

// gather parses files, which are sorted, and sorts their documents by domain.
func gather(files []File, last *Ruleset, log *report) *fileSet {
	set := &fileSet{
		domains: make(map[string]*unit),
		files:   make(map[string][]string, len(files)),
		half:    make(map[string]string),
	}
	schema, used := newSchema(), &budget{}
	for i := range files {
		file := &files[i]
		p := file.parse(schema, used, log)
		if p.half != "" {
			set.half[file.Name] = p.half
		}
		set.add(file, &p, last)
	}
	return set
}

func (f *File) parse(schema *schema, used *budget, log *report) parsed {
	if f.Config != nil {
		return readConfig(f, used, log)
	}
	return parse(f, schema, used, log)
}

func (s *fileSet) add(file *File, p *parsed, last *Ruleset) {
	lost := p.failed // a part of the file belongs to a domain not yet told
	held := make(map[string]bool)
	holds := func(domain string) bool {
		if held[domain] {
			return false
		}
		held[domain] = true
		s.files[file.Name] = append(s.files[file.Name], domain)
		return true
	}
	for _, doc := range p.documents {
		if !doc.domain.set {
			lost = true
			continue
		}
		u := s.unit(doc.domain.value)
		u.documents = append(u.documents, doc)
		u.rejected = u.rejected || doc.errors
		holds(u.name)
	}
	if !lost {
		return
	}
	told := false
	var named []string
	if file.Config == nil {
		named = readableDomains(file.Data)
	}
	for _, name := range append(named, last.FileDomains(file.Name)...) {
		if holds(name) {
			s.unit(name).rejected = true
			told = true
		}
	}
	s.unknown = s.unknown || !told
}

// hash is equal for the same files and options.
func hash(files []File, opt Options) string {
	h := sha256.New()
	text := func(b []byte) {
		h.Write(binary.AppendUvarint(nil, uint64(len(b))))
		h.Write(b)
	}
	text(fmt.Appendf(nil, "%+v", opt))
	for i := range files {
		text([]byte(files[i].Name))
		text(files[i].Data)
		if files[i].DefaultsOnly {
			text([]byte("defaults"))
		}
		if files[i].Err != nil {
			text([]byte(files[i].Err.Error()))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
