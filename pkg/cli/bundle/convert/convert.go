// Package convert converts the manifests of an operator, as kustomize and Helm write them, to a registry+v1 bundle.
// It is pure.
package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// Options are what the manifests do not have.
type Options struct {
	// Name is the name of the package: a DNS label.
	Name string
	// Version is the semantic version of the operator.
	Version string
	// Channel is the channel in which the bundle is published.
	Channel string
}

// Validate returns what is wrong with the options, by the flags of the command.
func (o Options) Validate() error {
	var errs []error
	if problems := validation.IsDNS1123Label(o.Name); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("--name %q: name the package of the operator, in up to 63 lower case letters, digits and '-', such as shop-operator", o.Name))
	}
	if _, err := semver.Parse(o.Version); err != nil {
		errs = append(errs, fmt.Errorf("--version %q: use a semantic version, such as 0.1.0", o.Version))
	} else if name := o.csvName(); len(errs) == 0 && len(validation.IsDNS1123Subdomain(name)) > 0 {
		errs = append(errs, fmt.Errorf("--version %q: the ClusterServiceVersion would have the name %q, which the API server refuses: use lower case letters, digits, '.' and '-'", o.Version, name))
	} else if len(name) > validation.LabelValueMaxLength {
		errs = append(errs, fmt.Errorf("--name and --version: the ClusterServiceVersion would have the name %q, and OLM allows %d characters: use a shorter name", name, validation.LabelValueMaxLength))
	}
	if problems := validation.IsDNS1123Subdomain(o.Channel); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("--channel %q: use the name of a channel in lower case letters, digits, '.' and '-', such as stable", o.Channel))
	}
	return errors.Join(errs...)
}

func (o Options) csvName() string { return o.Name + ".v" + o.Version }

// Result is a bundle, and what an author has to know about it.
type Result struct {
	// Files are the texts of the files, by their path in the bundle.
	Files map[string]string
	// Findings are sorted by level.
	Findings []Finding
}

// errNoDeployment is returned for manifests without a Deployment.
var errNoDeployment = errors.New("the input has no Deployment: a bundle installs the Deployments of an operator. Pass all manifests of the operator, as kustomize build or helm template prints them")

// Convert returns the bundle of an operator.
func Convert(objects []*bundle.Object, o Options) (Result, error) {
	if err := errors.Join(checkTemplates(objects), checkUnique(objects)); err != nil {
		return Result{}, err
	}
	c := &converter{
		options: o, handled: map[*bundle.Object]bool{}, generateNames: map[string]int{}, ports: map[port]string{},
		certificateSecrets: secrets{}, conditions: map[string]any{}, kept: map[string]*bundle.Object{},
	}
	c.objects = lists.Filter(objects, func(o *bundle.Object) bool { return !c.isHook(o) })
	c.index()
	if len(c.deployments) == 0 {
		return Result{}, noDeployment(objects)
	}
	(&webhooks{c}).convert()
	c.convertDefinitions()
	c.convertCertificates()
	c.convertPermissions()
	c.convertServices()
	c.convertOthers()
	c.finishDeployments()
	csv := c.clusterServiceVersion()
	files, err := c.files(csv)
	result := Result{Files: files}
	result.Add(c.findings)
	return result, err
}

// noDeployment returns the reason why there is nothing to convert.
func noDeployment(objects []*bundle.Object) error {
	if old := lists.First(objects, isDeployment); old != nil && old.Typed != nil {
		return fmt.Errorf("%s:%d: %s has apiVersion %s, and a bundle has Deployments of apps/v1 only: %s", old.File, old.Line("apiVersion"), title(old), old.GetAPIVersion(), asCurrent)
	}
	return errNoDeployment
}

// Add adds findings in the order of their levels.
func (r *Result) Add(findings []Finding) {
	r.Findings = slices.Concat(r.Findings, findings)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return a.Level.rank() - b.Level.rank() })
}

// converter has the state of one conversion.
type converter struct {
	options  Options
	objects  []*bundle.Object // without hooks
	handled  map[*bundle.Object]bool
	findings []Finding

	namespaces
	deployments []*deployment
	services    []*calledService

	webhooks      []any
	generateNames map[string]int  // how often a name is used
	ports         map[port]string // the targets of the ports of the Services that the manager creates
	conditions    map[string]any  // matchConditions, by generateName
	converts      bool            // has a conversion webhook

	injected           sets.Set[string] // the Certificates whose CA cert-manager injects, as namespace/name
	certificateSecrets secrets          // that the manager's certificate replaces

	owned       []any
	examples    []any
	permissions []any
	cluster     []any
	namespace   map[string]any // the suggested Namespace; nil for none

	manifests []*unstructured.Unstructured
	kept      map[string]*bundle.Object // the objects of the input that are files of the bundle, by kind and name
}

// keep adds an object of the input, in the form that it has in the bundle, without what belongs to a cluster or a tool.
func (c *converter) keep(source *bundle.Object, o *unstructured.Unstructured) {
	c.checkKept(source, o)
	kept := o.DeepCopy()
	unstructured.RemoveNestedField(kept.Object, "status")
	unstructured.RemoveNestedField(kept.Object, "metadata", "creationTimestamp")
	kept.SetNamespace("")
	kept.SetLabels(withoutTools(kept.GetLabels()))
	kept.SetAnnotations(withoutTools(kept.GetAnnotations()))
	c.manifests = append(c.manifests, kept)
}

// toolPrefixes begin the labels and annotations that Helm, kubectl and cert-manager read or write.
var toolPrefixes = []string{"helm.sh/", "meta.helm.sh/", "kubectl.kubernetes.io/last-applied-configuration", "cert-manager.io/", "deployment.kubernetes.io/"}

func withoutTools(pairs map[string]string) map[string]string {
	var kept map[string]string
	for key, value := range pairs {
		if !ofTool(key, value) {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
		}
	}
	return kept
}

func ofTool(key, value string) bool {
	switch key {
	case "app.kubernetes.io/managed-by":
		return slices.Contains([]string{"Helm", "helm", "kustomize"}, value)
	case "heritage":
		return slices.Contains([]string{"Helm", "Tiller"}, value)
	default:
		return slices.ContainsFunc(toolPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	}
}

const hookAnnotation = "helm.sh/hook"

func (c *converter) isHook(o *bundle.Object) bool {
	events, is := o.GetAnnotations()[hookAnnotation]
	switch {
	case !is:
		return false
	case strings.HasPrefix(events, "test"):
		c.report(Note, o, annotation(hookAnnotation), "the object is a test of Helm, and is not in the bundle", "run the test by hand after the installation")
	default:
		c.report(Warning, o, annotation(hookAnnotation), fmt.Sprintf("the object is a hook of Helm (%s), and is not in the bundle: OLM runs no hooks", events),
			"let the operator do this work when it starts. If the hook creates certificates or patches webhooks, nothing is missing: the manager does this")
	}
	return true
}

func annotation(key string) string { return "metadata.annotations[" + key + "]" }

// checkUnique refuses two objects of one name: one of them would overwrite the other. API servers ignore the namespace of
// an object that has none.
func checkUnique(objects []*bundle.Object) error {
	known := map[string]bool{}
	var errs []error
	for _, o := range objects {
		namespace := o.GetNamespace()
		if groupkind.ClusterScoped(groupkind.Of(o)) {
			namespace = ""
		}
		key := groupkind.Of(o).String() + " " + namespace + "/" + o.GetName()
		if known[key] {
			errs = append(errs, fmt.Errorf("%s:%d: %s is in the input twice: pass each object once", o.File, o.Line(""), title(o)))
		}
		known[key] = true
	}
	return errors.Join(errs...)
}
