package scaffold

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.podman.io/image/v5/docker/reference"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/yamltext"
)

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

// HostingModule is the path of the Go module pkg/hosting.
const HostingModule = "github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"

// version is the version of the new operator.
const version = "0.1.0"

// CSVName is the name of the ClusterServiceVersion.
func (o Options) CSVName() string { return o.Name + ".v" + version }

// Validate returns what is wrong with the options, by the flags of the command.
func (o Options) Validate() error {
	if err := o.validateName(); err != nil { // Other values contain the name.
		return err
	}
	errs := []error{o.validateDomain(), o.validateModule(), o.validateImage()}
	for flag, text := range map[string]string{"name": o.Name, "domain": o.Domain, "image": o.Image} {
		if !isYAMLText(text) {
			errs = append(errs, fmt.Errorf("--%s %q: YAML does not read it as a text: use another one", flag, text))
		}
	}
	return errors.Join(append(errs, o.validateTypes(), o.validateHosting())...)
}

func (o Options) validateName() error {
	allowed := validation.LabelValueMaxLength - len(o.CSVName()) + len(o.Name)
	flag := fmt.Sprintf("--name %q, by default the name of DIR", o.Name)
	switch {
	case len(validation.IsDNS1035Label(o.Name)) > 0, len(o.Name) > allowed:
		return fmt.Errorf("%s: use up to %d lower case letters, digits and '-', which begin with a letter, such as team-label: the ClusterServiceVersion has the name %s, and OLM allows %d characters",
			flag, allowed, o.CSVName(), validation.LabelValueMaxLength)
	case module.CheckFilePath(o.Name) != nil:
		return fmt.Errorf("%s: Windows reserves this name, and Go refuses it in the paths of modules: use another one, such as %s-operator", flag, o.Name)
	default:
		return nil
	}
}

func (o Options) validateDomain() error {
	switch problems := validation.IsDNS1123Subdomain("validate-pods." + o.group()); {
	case len(validation.IsDNS1123Subdomain(o.Domain)) > 0 || !strings.Contains(o.Domain, "."):
		return fmt.Errorf("--domain %q: use a DNS domain of yours, such as example.com", o.Domain)
	case len(problems) > 0:
		return fmt.Errorf("--name and --domain: the webhook validate-pods.%s: %s", o.group(), problems[0])
	case o.Has(Conversion) && apihelpers.IsProtectedCommunityGroup(o.group()):
		return fmt.Errorf("--domain %q: the API server refuses a CustomResourceDefinition of the group %s without an approval, because k8s.io and kubernetes.io belong to Kubernetes: use a DNS domain of yours, such as example.com", o.Domain, o.group())
	default:
		return nil
	}
}

func (o Options) validateModule() error {
	if err := module.CheckPath(o.Module); err != nil {
		return fmt.Errorf("--module %q, by default DOMAIN/NAME: use the path of a Go module, such as example.com/%s: %w", o.Module, o.Name, cause(err))
	}
	return nil
}

// cause returns an error of the module golang.org/x/mod without the path, which the message has already.
func cause(err error) error {
	if invalid, is := errors.AsType[*module.InvalidPathError](err); is {
		return invalid.Err
	}
	return err
}

// validateImage accepts the name of an image that the Makefile can build.
func (o Options) validateImage() error {
	image, err := reference.ParseNormalizedNamed(o.Image)
	flag, example := fmt.Sprintf("--image %q", o.Image), fmt.Sprintf("such as registry.example.com/%s:v%s", o.Name, version)
	if err != nil {
		return fmt.Errorf("%s: use the name and the tag of an image, %s: %w", flag, example, err)
	}
	if _, is := image.(reference.Digested); is {
		return fmt.Errorf("%s: make image builds the image, whose digest is not known before: use a tag instead, %s", flag, example)
	}
	if reference.IsNameOnly(image) {
		return fmt.Errorf("%s: the image has no tag, so its nodes can run different programs: add a tag, %s", flag, example)
	}
	return nil
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
	case semver.Canonical(o.HostingVersion) != o.HostingVersion, module.Check(HostingModule, o.HostingVersion) != nil:
		return fmt.Errorf("--hosting-version %q: use a semantic version of %s, such as v0.1.0", o.HostingVersion, HostingModule)
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
