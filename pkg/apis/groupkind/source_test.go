package groupkind

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/sourcetest"
)

// callers are the files that may read the name of a kind without its group, each with its reason.
var callers = map[string]string{
	"pkg/cli/bundle/allowedkinds.go":           "in a message",
	"pkg/cli/bundle/manifests.go":              "in a key, with the group",
	"pkg/cli/bundle/parse.go":                  "in messages, and for lists of any group",
	"pkg/cli/bundle/read.go":                   "finds a ClusterServiceVersion whose group is misspelt, and reports it",
	"pkg/cli/bundle/unknownfields.go":          "in a message",
	"pkg/cli/bundle/convert/certificates.go":   "in a message, of a kind of cert-manager",
	"pkg/cli/bundle/convert/findings.go":       "in a message",
	"pkg/cli/bundle/convert/read.go":           "in a message",
	"pkg/cli/bundle/lint/exposure.go":          "of a role, which its Go type shows",
	"pkg/cli/cmd/doctor/explain.go":            "in a message",
	"pkg/cli/doctor/explain/final.go":          "is a kind with its group",
	"pkg/cli/doctor/explain/webhooks.go":       "is a kind with its group",
	"pkg/cli/deploy/record.go":                 "is recorded, with the group",
	"pkg/cli/deploy/removal.go":                "in a message, of a kind whose group is known",
	"pkg/cli/bundle/show/summary.go":           "in a row, of an object whose Go type is known",
	"pkg/cli/bundle/wrongtypes.go":             "in a message",
	"pkg/cli/installer/dryrun.go":              "in a message, with the group",
	"pkg/certs/issuers/certmanager_finding.go": "in a key and a message, of desired objects",
	"pkg/controller/decide/certmanager.go":     "in a key, of desired objects",
	"pkg/controller/decide/issuance.go":        "in a key, of desired objects",
	"pkg/controller/write/dynamic.go":          "selects the resource of a desired object",
	"pkg/rollout/drift/drift.go":               "in a message",
}

// comparers are the files that may compare such a name: a ClusterServiceVersion of a misspelt group is checked, too.
var comparers = []string{"pkg/cli/bundle/read.go", "pkg/cli/bundle/parse.go"}

// A kind without its group can be of a tenant. Another file that reads it has to be added with a reason. The linter
// forbids reads of the kind of an owner reference.
func TestNoKindIsReadWithoutItsGroup(t *testing.T) {
	used := map[string]bool{}
	for name, file := range sourcetest.Parsed(t, "pkg", "cmd") {
		for _, d := range file.Decls {
			k := kindsIn(d)
			if len(k.reads) > 0 {
				used[name] = true
			}
			if len(k.reads) > 0 && callers[name] == "" || len(k.comparisons) > 0 && !slices.Contains(comparers, name) {
				t.Errorf("%s reads a kind without its group: %q, %q: use groupkind.Is or groupkind.Of", name, k.reads, k.comparisons)
			}
		}
	}
	for name := range callers {
		if !used[name] {
			t.Errorf("%s of the list reads no kind", name)
		}
	}
}

// kinds are the names of kinds that a declaration uses without their groups.
type kinds struct {
	names              map[string]bool // variables with the name of a kind
	whole              map[string]bool // variables with a kind and its group
	grouped            map[string]bool // those of which the group is read, too
	reads, comparisons []string
}

func kindsIn(d ast.Decl) *kinds {
	k := &kinds{names: map[string]bool{}, whole: map[string]bool{}, grouped: map[string]bool{}}
	ast.Inspect(d, k.variables)
	ast.Inspect(d, k.uses)
	return k
}

func (k *kinds) variables(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Field: // of parameters
		for _, name := range n.Names {
			k.whole[name.Name] = k.whole[name.Name] || isKindType(n.Type)
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			name, is := left.(*ast.Ident)
			if !is || len(n.Rhs) != len(n.Lhs) {
				continue
			}
			k.names[name.Name] = k.names[name.Name] || k.isName(n.Rhs[i])
			k.whole[name.Name] = k.whole[name.Name] || isWhole(n.Rhs[i])
		}
	case *ast.SelectorExpr:
		if of, is := n.X.(*ast.Ident); is && (n.Sel.Name == "Group" || n.Sel.Name == "GroupVersion") {
			k.grouped[of.Name] = true
		}
	}
	return true
}

func (k *kinds) uses(n ast.Node) bool {
	if s, is := n.(*ast.SelectorExpr); is && (s.Sel.Name == "GetKind" || s.Sel.Name == "Kind" && isWhole(s.X)) {
		k.reads = append(k.reads, sourcetest.Text(s))
	}
	if compared := k.comparison(n); compared != nil {
		k.comparisons = append(k.comparisons, sourcetest.Text(compared))
	}
	return true
}

// comparison returns what compares the name of a kind with another text than the empty one.
func (k *kinds) comparison(n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		equality := n.Op == token.EQL || n.Op == token.NEQ
		if equality && !isEmpty(n.X) && !isEmpty(n.Y) && (k.isName(n.X) || k.isName(n.Y)) {
			return n
		}
	case *ast.SwitchStmt:
		if n.Tag != nil && k.isName(n.Tag) {
			return n.Tag
		}
	case *ast.CallExpr:
		if sourcetest.Text(n.Fun) == "slices.Contains" && len(n.Args) == 2 && k.isName(n.Args[1]) {
			return n
		}
	}
	return nil
}

func isEmpty(e ast.Expr) bool { return sourcetest.Text(e) == `""` }

// isName reports whether an expression is the name of a kind whose group is not read.
func (k *kinds) isName(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return k.isName(e.X)
	case *ast.Ident:
		return k.names[e.Name]
	case *ast.CallExpr:
		return called(e) == "GetKind"
	case *ast.SelectorExpr:
		of, is := e.X.(*ast.Ident)
		return e.Sel.Name == "Kind" && (isWhole(e.X) || is && k.whole[of.Name] && !k.grouped[of.Name])
	default:
		return false
	}
}

// isWhole reports whether an expression is a call that returns a kind and its group.
func isWhole(e ast.Expr) bool {
	call, is := e.(*ast.CallExpr)
	if !is {
		return false
	}
	switch name := called(call); name {
	case "GroupVersionKind", "GroupKind", "GetObjectKind", "FromAPIVersionAndKind":
		return true
	default:
		return sourcetest.Text(call.Fun) == "groupkind.Of" || sourcetest.Text(call.Fun) == "groupkind.OfOwner"
	}
}

func isKindType(e ast.Expr) bool {
	return slices.Contains([]string{"schema.GroupVersionKind", "schema.GroupKind"}, sourcetest.Text(e))
}

func called(call *ast.CallExpr) string {
	if method, is := call.Fun.(*ast.SelectorExpr); is {
		return method.Sel.Name
	}
	return ""
}

func TestKindsIn(t *testing.T) {
	for text, want := range map[string]struct{ reads, comparisons int }{
		`o.GetKind() == "A"`:                                                                       {1, 1},
		`"A" != o.GroupVersionKind().Kind`:                                                         {1, 1},
		`groupkind.Of(o).Kind == "A"`:                                                              {1, 1},
		`slices.Contains(all, o.GetKind())`:                                                        {1, 1},
		`func() bool { kind := o.GetKind(); return kind == "A" }()`:                                {1, 1},
		`func() bool { kind := o.GroupVersionKind(); return kind.Kind == b }()`:                    {0, 1},
		`func() bool { kind := o.GroupVersionKind(); return kind.Group == a && kind.Kind == b }()`: {0, 0},
		`func(kind schema.GroupKind) bool { return kind.Kind == a }`:                               {0, 1},
		`func() bool { switch o.GetKind() { case "A": return true }; return false }()`:             {1, 1},
		`groupkind.Of(o) == a`:                                                                     {0, 0},
		`o.GetKind() == ""`:                                                                        {1, 0},
		`print(o.GetKind())`:                                                                       {1, 0},
		`f(o.GetKind)`:                                                                             {1, 0},
		`e.Kind == reflect.Bool`:                                                                   {0, 0},
	} {
		file := sourcetest.Parse(t, "p.go", "package p\nvar v = "+text)
		k := kindsIn(file.Decls[0])
		if got := []int{len(k.reads), len(k.comparisons)}; !slices.Equal(got, []int{want.reads, want.comparisons}) {
			t.Errorf("%s: reads and comparisons %v, want %v: %q, %q", text, got, want, k.reads, k.comparisons)
		}
	}
}
