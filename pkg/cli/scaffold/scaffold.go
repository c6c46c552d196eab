// Package scaffold renders the files of a new operator with webhooks on pkg/hosting. It is pure.
package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/yamltext"
)

// The types of webhooks that an operator can have.
const (
	Validating = "validating"
	Mutating   = "mutating"
	Conversion = "conversion"
)

// Types are all types of webhooks.
var Types = []string{Validating, Mutating, Conversion}

// Options are what the files depend on.
type Options struct {
	// Name is the name of the package, the Deployment and the program: a DNS label.
	Name string
	// Domain is a DNS domain of the author. The names of webhooks and the API group end in it.
	Domain string
	// Module is the path of the Go module.
	Module string
	// Image is the image that the bundle names.
	Image string
	// Types are the types of webhooks.
	Types []string
	// HostingVersion is the version of pkg/hosting, such as v0.1.0.
	HostingVersion string
	// HostingDir is the directory of pkg/hosting in a clone; empty for a released version.
	HostingDir string
}

var (
	modulePath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9][A-Za-z0-9._~-]*)*$`)
	imageName  = regexp.MustCompile(`^[a-z0-9][a-z0-9._:/-]*(:[A-Za-z0-9][A-Za-z0-9._-]*)?(@sha256:[0-9a-f]{64})?$`)
	release    = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
)

// Validate returns what is wrong with the options, by the flags of the command.
func (o Options) Validate() error {
	var errs []error
	if problems := validation.IsDNS1035Label(o.Name); len(problems) > 0 { // Other values contain the name.
		return fmt.Errorf("--name %q, by default the name of DIR: use up to 63 lower case letters, digits and '-', which begin with a letter, such as team-label", o.Name)
	}
	if problems := validation.IsDNS1123Subdomain(o.Domain); len(problems) > 0 || !strings.Contains(o.Domain, ".") {
		errs = append(errs, fmt.Errorf("--domain %q: use a DNS domain of yours, such as example.com", o.Domain))
	}
	if problems := validation.IsDNS1123Subdomain("validate-pods." + o.group()); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("--name and --domain: the webhook validate-pods.%s: %s", o.group(), problems[0]))
	}
	if !modulePath.MatchString(o.Module) {
		errs = append(errs, fmt.Errorf("--module %q: use the path of a Go module, such as example.com/%s", o.Module, o.Name))
	}
	if !imageName.MatchString(o.Image) {
		errs = append(errs, fmt.Errorf("--image %q: use the name of an image, such as registry.example.com/%s:v0.1.0", o.Image, o.Name))
	}
	for flag, text := range map[string]string{"name": o.Name, "domain": o.Domain, "image": o.Image} {
		if !isYAMLText(text) {
			errs = append(errs, fmt.Errorf("--%s %q: YAML does not read it as a text: use another one", flag, text))
		}
	}
	return errors.Join(append(errs, o.validateTypes(), o.validateHosting())...)
}

// isYAMLText reports whether YAML reads a text without quotes as the same text, and not as a number, for example.
func isYAMLText(text string) bool {
	var value any
	if yamltext.Check([]byte(text)) != nil {
		return false
	}
	return yaml.Unmarshal([]byte(text), &value) == nil && value == any(text)
}

func (o Options) validateTypes() error {
	unknown := lists.Filter(o.Types, func(t string) bool { return !slices.Contains(Types, t) })
	if len(unknown) > 0 || len(o.Types) == 0 {
		return fmt.Errorf("--type %q: use one or several of %s", strings.Join(unknown, ","), strings.Join(Types, ", "))
	}
	return nil
}

func (o Options) validateHosting() error {
	switch {
	case o.HostingVersion == "":
		return errors.New("--hosting-version: this program is not a release, so it does not know the version of pkg/hosting. Name a version, or a clone with --hosting-dir")
	case !release.MatchString(o.HostingVersion):
		return fmt.Errorf("--hosting-version %q: use a version such as v0.1.0", o.HostingVersion)
	default:
		return nil
	}
}

func (o Options) group() string { return o.Name + "." + o.Domain }

// Has reports whether the operator has a webhook of a type.
func (o Options) Has(t string) bool { return slices.Contains(o.Types, t) }

// Admission reports whether the operator has an admission webhook.
func (o Options) Admission() bool { return o.Has(Validating) || o.Has(Mutating) }

// Group is the API group of the converted kind, and the end of the names of webhooks.
func (o Options) Group() string { return o.group() }

//go:embed all:template
var templates embed.FS

// names are the parts of file names that depend on the options.
func (o Options) names() *strings.Replacer {
	return strings.NewReplacer("NAME", o.Name, "GROUP", o.group())
}

// only are the files of operators with a webhook of one type.
var only = map[string]string{
	"validating.go": Validating, "validating_test.go": Validating,
	"mutating.go": Mutating, "mutating_test.go": Mutating,
	"conversion.go": Conversion, "conversion_test.go": Conversion, "GROUP_samples.yaml": Conversion, "sample.yaml": Conversion,
}

// Files returns the content of all files, by their path in the folder of the operator.
func Files(o Options) (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(templates, "template", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file := strings.TrimSuffix(strings.TrimPrefix(name, "template/"), ".tmpl")
		if t := only[path.Base(file)]; t != "" && !o.Has(t) {
			return nil
		}
		text, err := render(name, o)
		files[o.names().Replace(file)] = text
		return err
	})
	return files, err
}

func render(name string, o Options) (string, error) {
	text, err := templates.ReadFile(name)
	if err != nil {
		return "", err
	}
	t, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Parse(string(text))
	if err != nil {
		return "", err
	}
	var rendered strings.Builder
	err = t.Execute(&rendered, o)
	return rendered.String(), err
}

// Paths returns the sorted paths of some files.
func Paths(files map[string]string) []string {
	paths := make([]string, 0, len(files))
	for name := range files {
		paths = append(paths, name)
	}
	return lists.Sorted(paths)
}
