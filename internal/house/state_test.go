package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestNoPackageState: no package-level variable is ever assigned to, none is a
// lock or a counter, and nothing happens in an init. Tables and sentinel errors
// are fine: they are made once and read.
func TestNoPackageState(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	for _, p := range packages(t) {
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		checkState(t, fset, parsed)
	}
}

func checkState(t *testing.T, fset *token.FileSet, parsed []*ast.File) {
	t.Helper()
	state := map[string]*ast.ValueSpec{}
	for _, file := range parsed {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil && decl.Name.Name == "init" {
					t.Errorf("%s: an init function", fset.Position(decl.Pos()))
				}
			case *ast.GenDecl:
				if decl.Tok == token.VAR {
					collectState(t, fset, decl, state)
				}
			}
		}
	}
	for _, file := range parsed {
		ast.Inspect(file, func(n ast.Node) bool {
			for _, target := range assigned(n) {
				id, ok := target.(*ast.Ident)
				if !ok || state[id.Name] == nil {
					continue
				}
				// A name that is resolved within its file to something else is
				// a local variable of the same name.
				if id.Obj == nil || id.Obj.Decl == state[id.Name] {
					t.Errorf("%s: %s is a package-level variable and assigned to", fset.Position(id.Pos()), id.Name)
				}
			}
			return true
		})
	}
}

// collectState notes the variables of a declaration. One without a value can
// only be meant to change, but for what the compiler embeds and the linker sets.
func collectState(t *testing.T, fset *token.FileSet, decl *ast.GenDecl, state map[string]*ast.ValueSpec) {
	t.Helper()
	for _, spec := range decl.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for _, name := range value.Names {
			if name.Name == "_" {
				continue // an assertion of the compiler's
			}
			state[name.Name] = value
			if len(value.Values) == 0 && decl.Doc == nil {
				t.Errorf("%s: %s is a package-level variable without a value", fset.Position(name.Pos()), name.Name)
			}
		}
	}
}

// assigned returns what a statement assigns to.
func assigned(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return nil // a table may be pointed into
		}
	}
	return nil
}
