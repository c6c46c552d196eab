// Package programs holds the programs that tests run: the manager, the examples, the program of
// docs/author/hosting.md, cert-manager and those of OLM. They are built by make programs or, those of OLM,
// by make e2e-olm, before any test: a build inside a test counts against the test's time limit. A test
// asks for the path of a program with Path.
package programs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The programs.
const (
	Manager      = "olm-webhook-manager"
	Plugin       = "kubectl-webhooks"
	VolumeLabels = "volumelabels"
	PodDefaults  = "poddefaults"
	Conversion   = "crdconversion"
	TeamLabel    = "team-label" // the first program of docs/author/hosting.md
	CertManager  = "cert-manager"

	CatalogOperator = "catalog-operator"
	OLMOperator     = "olm-operator"
	PackageServer   = "package-server"
	OPM             = "opm"
	CopyBundle      = "cpb"
)

type program struct {
	name   string
	module string   // directory of its Go module, relative to the root of the checkout
	pkg    string   // its main package, relative to the module
	inputs []string // files and directories that decide what is built, relative to the root; if shared, to the module
	page   string   // the Markdown page whose first Go program is built, if it is not a package
	shared bool     // kept outside the checkout, because its build takes minutes
	flags  []string // of go build, if shared
	named  bool     // built only if it is named
}

var tree = []string{"go.mod", "go.sum", "hack/build.sh", "cmd", "pkg", "examples", "docs/author/hosting.md"}

var all = []program{
	{name: Manager, module: ".", pkg: "./cmd/olm-webhook-manager", inputs: tree},
	{name: Plugin, module: ".", pkg: "./cmd/kubectl-webhooks", inputs: tree},
	{name: VolumeLabels, module: "examples", pkg: "./volumelabels", inputs: tree},
	{name: PodDefaults, module: "examples", pkg: "./poddefaults", inputs: tree},
	{name: Conversion, module: "examples", pkg: "./crdconversion", inputs: tree},
	{name: TeamLabel, module: "pkg/hosting", page: "docs/author/hosting.md", inputs: tree},
	{name: CertManager, module: "test/certmanager", pkg: ".", inputs: []string{"."}, shared: true},
	upstream(CatalogOperator, lifecycleManager+"/cmd/catalog"),
	upstream(OLMOperator, lifecycleManager+"/cmd/olm"),
	upstream(PackageServer, lifecycleManager+"/cmd/package-server"),
	upstream(CopyBundle, lifecycleManager+"/util/cpb"),
	upstream(OPM, "github.com/operator-framework/operator-registry/cmd/opm", "json1", "containers_image_openpgp"),
}

const lifecycleManager = "github.com/operator-framework/operator-lifecycle-manager"

// upstream is a program of OLM, in the version that test/olm/upstream requires. The tag grpcnotrace keeps programs small.
func upstream(name, pkg string, tags ...string) program {
	return program{
		name: name, module: "test/olm/upstream", pkg: pkg, inputs: []string{"."}, shared: true, named: true,
		flags: []string{"-tags=" + strings.Join(append(tags, "grpcnotrace"), ","), "-ldflags=-s -w"},
	}
}

// Path returns the file of a program that was built from the present sources.
func Path(name string) (string, error) {
	root, err := findRoot()
	if err != nil {
		return "", err
	}
	p, err := find(name)
	if err != nil {
		return "", err
	}
	path, err := p.path(root)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is not built from the present sources (%w): run make %s", name, err, p.target())
	}
	return path, nil
}

func find(name string) (program, error) {
	for _, p := range all {
		if p.name == name {
			return p, nil
		}
	}
	return program{}, fmt.Errorf("test/programs has no program %s", name)
}

func (p program) path(root string) (string, error) {
	dir, err := p.dir(root)
	return filepath.Join(dir, p.name), err
}

// target is the make target that builds the program.
func (p program) target() string {
	if p.named {
		return "e2e-olm"
	}
	return "programs"
}

func (p program) built(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, p.name))
	return err == nil
}
