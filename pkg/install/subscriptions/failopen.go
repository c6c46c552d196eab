package subscriptions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// FailOpen is what the administrator allows for one webhook whose backend is unreachable.
type FailOpen struct {
	// After is how long the backend must be unreachable before requests of nodes, and about objects in the operator's
	// namespace, pass.
	After time.Duration
	// AllAfter is how long it must be unreachable before all requests pass; zero for never.
	AllAfter time.Duration
	// For is how long the webhook may be open in any 24 hours.
	For time.Duration
	// Resources limit the requests that pass; none for all resources.
	Resources []schema.GroupResource
}

// FailOpens are what the administrator allows for the webhooks of a ClusterServiceVersion.
type FailOpens struct {
	ByWebhook map[csvspec.Identity]FailOpen
	// Refusals are why webhooks do not open, with the next step.
	Refusals []string
}

// The shortest and longest durations that an administrator can set, and the default of the last one.
const (
	minFailOpenAfter   = 30 * time.Second
	minFailOpenFor     = time.Minute
	maxFailOpenFor     = 24 * time.Hour
	defaultFailOpenFor = time.Hour
)

// failOpenPrefix begins the annotations about openings, and misspelt ones.
const failOpenPrefix = wellknown.AnnotationPrefix + "fail-open"

// FailOpen returns which webhooks may open. With an annotation that is not valid, none may.
func (c Config) FailOpen(csv *operatorsv1alpha1.ClusterServiceVersion) FailOpens {
	f := failOpenReader{csv: csv, annotations: c.Annotations, source: fmt.Sprintf("Subscription %s: spec.config.annotations", c.Subscription), subscribed: true}
	if c.Subscription == "" {
		f.annotations, f.source, f.subscribed = csv.Annotations, fmt.Sprintf("ClusterServiceVersion %s: metadata.annotations", csv.Name), false
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(f.annotations)), func(key string) bool { return strings.HasPrefix(key, failOpenPrefix) }) {
		return FailOpens{}
	}
	if len(c.AlsoNaming) > 0 {
		f.refuse("%s* have no effect, because Subscriptions %s name the ClusterServiceVersion, too: delete all of them except one", failOpenPrefix, strings.Join(c.AlsoNaming, ", "))
		return FailOpens{Refusals: f.refusals}
	}
	if !f.subscribed && isComponent(csv) {
		f.refuse("%s* have no effect, because they may be the author's: the Subscription of the ClusterServiceVersion was deleted. Create it again, with the annotations in spec.config.annotations", failOpenPrefix)
		return FailOpens{Refusals: f.refusals}
	}
	allowed := f.read()
	if len(f.refusals) > 0 {
		return FailOpens{Refusals: f.refusals}
	}
	return FailOpens{ByWebhook: allowed, Refusals: f.exceptions}
}

// isComponent reports whether a ClusterServiceVersion has or had a Subscription. Its annotations are those of the bundle, while
// commands of the manager install a bundle without annotations for administrators.
func isComponent(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(csv.Labels)), func(label string) bool { return strings.HasPrefix(label, wellknown.LabelComponentPrefix) })
}

// failOpenReader reads the annotations of one source.
type failOpenReader struct {
	csv         *operatorsv1alpha1.ClusterServiceVersion
	annotations map[string]string
	source      string
	subscribed  bool
	refusals    []string // because of them, no webhook opens
	exceptions  []string // why single webhooks do not open
}

func (f *failOpenReader) refuse(format string, args ...any) {
	f.refusals = append(f.refusals, f.source+", "+fmt.Sprintf(format, args...))
}

func (f *failOpenReader) except(format string, args ...any) {
	f.exceptions = append(f.exceptions, f.source+", "+fmt.Sprintf(format, args...))
}

var failOpenAnnotations = []string{
	wellknown.AnnotationFailOpenAfter, wellknown.AnnotationFailOpenAllAfter, wellknown.AnnotationFailOpenFor,
	wellknown.AnnotationFailOpenWebhooks, wellknown.AnnotationFailOpenSecurityCritical,
}

func (f *failOpenReader) read() map[csvspec.Identity]FailOpen {
	for _, key := range slices.Sorted(maps.Keys(f.annotations)) {
		if strings.HasPrefix(key, failOpenPrefix) && !slices.Contains(failOpenAnnotations, key) {
			f.refuse("%s is not known: correct it to one of %s", key, strings.Join(failOpenAnnotations, ", "))
		}
	}
	durations := f.durations()
	overridden := f.overridden()
	critical := f.critical(overridden)
	named := f.named()
	allowed := map[csvspec.Identity]FailOpen{}
	for _, d := range f.csv.Spec.WebhookDefinitions {
		if f.mayOpen(d, named, critical, overridden) {
			one := durations
			one.Resources = named[d.GenerateName]
			allowed[csvspec.IdentityOf(d)] = one
		}
	}
	return allowed
}

// mayOpen is false for conversions, which change objects, and for webhooks that fail open anyway.
func (f *failOpenReader) mayOpen(d operatorsv1alpha1.WebhookDescription, named map[string][]schema.GroupResource, critical func(string) bool, overridden bool) bool {
	if !isAdmission(d) || d.FailurePolicy != nil && *d.FailurePolicy != admissionregistrationv1.Fail {
		return false
	}
	_, listed := named[d.GenerateName]
	switch {
	case named != nil && !listed:
		return false
	case critical(d.GenerateName) && !overridden:
		if listed {
			f.except("%s names %s, which the annotation %s of the ClusterServiceVersion declares security-critical: to let it open all the same, set %s to \"true\" in the config of the Subscription",
				wellknown.AnnotationFailOpenWebhooks, d.GenerateName, wellknown.AnnotationSecurityCritical, wellknown.AnnotationFailOpenSecurityCritical)
		}
		return false
	case !listed && f.hasConditions(d.GenerateName):
		f.except("%s does not include webhook %s: while it is open, requests pass for which the matchConditions of its author fail. To let it open all the same, name it in %s",
			wellknown.AnnotationFailOpenAfter, d.GenerateName, wellknown.AnnotationFailOpenWebhooks)
		return false
	}
	return true
}

func isAdmission(d operatorsv1alpha1.WebhookDescription) bool {
	return d.Type == operatorsv1alpha1.ValidatingAdmissionWebhook || d.Type == operatorsv1alpha1.MutatingAdmissionWebhook
}

// hasConditions is true, too, if the annotation with the conditions is not valid.
func (f *failOpenReader) hasConditions(generateName string) bool {
	conditions, err := csvspec.MatchConditions(f.csv)
	return err != nil || len(conditions[generateName]) > 0
}

func (f *failOpenReader) durations() FailOpen {
	if _, set := f.annotations[wellknown.AnnotationFailOpenAfter]; !set {
		f.refuse("%s is missing: without it, no webhook opens. Set it to a duration such as 5m", wellknown.AnnotationFailOpenAfter)
		return FailOpen{}
	}
	all := FailOpen{
		After: f.duration(wellknown.AnnotationFailOpenAfter, minFailOpenAfter, 0),
		For:   cmp.Or(f.duration(wellknown.AnnotationFailOpenFor, minFailOpenFor, maxFailOpenFor), defaultFailOpenFor),
	}
	all.AllAfter = f.duration(wellknown.AnnotationFailOpenAllAfter, all.After, 0)
	return all
}

// duration is zero for an absent annotation. A limit of zero does not apply.
func (f *failOpenReader) duration(key string, shortest, longest time.Duration) time.Duration {
	text, set := f.annotations[key]
	if !set {
		return 0
	}
	value, err := time.ParseDuration(text)
	switch {
	case err != nil:
		f.refuse("%s is %q, which is no duration: set one such as 5m", key, text)
	case value < shortest:
		f.refuse("%s is %s, which is too short: set at least %s", key, value, shortest)
	case longest > 0 && value > longest:
		f.refuse("%s is %s, which is too long: set at most %s", key, value, longest)
	}
	return value
}

// overridden reports whether security-critical webhooks may open.
func (f *failOpenReader) overridden() bool {
	value, set := f.annotations[wellknown.AnnotationFailOpenSecurityCritical]
	switch {
	case !set || value == "false":
		return false
	case value != "true":
		f.refuse("%s is %q: set it to \"true\", or remove it", wellknown.AnnotationFailOpenSecurityCritical, value)
		return false
	case !f.subscribed:
		f.refuse("%s has an effect in the config of a Subscription only: remove it", wellknown.AnnotationFailOpenSecurityCritical)
		return false
	}
	return true
}

// critical reports by generateName whether the author declared a webhook security-critical.
func (f *failOpenReader) critical(overridden bool) func(generateName string) bool {
	names, unknown := SecurityCritical(f.csv)
	if len(unknown) > 0 && !overridden {
		f.refusals = append(f.refusals, fmt.Sprintf("ClusterServiceVersion %s: metadata.annotations, %s names %s, which is no webhook that could open: its webhooks are %s",
			f.csv.Name, wellknown.AnnotationSecurityCritical, strings.Join(unknown, ", "), strings.Join(admissionNames(f.csv), ", ")))
	}
	return func(generateName string) bool {
		return slices.Contains(names, wellknown.SecurityCriticalAll) || slices.Contains(names, generateName)
	}
}

// SecurityCritical returns the generateNames of webhooks that the author declared security-critical, or "*", and those
// of them that are no admission webhooks.
func SecurityCritical(csv *operatorsv1alpha1.ClusterServiceVersion) (names, unknown []string) {
	value, set := csv.Annotations[wellknown.AnnotationSecurityCritical]
	if !set {
		return nil, nil
	}
	names = commaSeparated(value)
	known := admissionNames(csv)
	for _, name := range names {
		if name != wellknown.SecurityCriticalAll && !slices.Contains(known, name) {
			unknown = append(unknown, fmt.Sprintf("%q", name))
		}
	}
	return names, unknown
}

func admissionNames(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	return lists.FilterMap(csv.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) (string, bool) {
		return d.GenerateName, isAdmission(d)
	})
}

// commaSeparated keeps empty entries, which name nothing.
func commaSeparated(value string) []string {
	return lists.Map(strings.Split(value, ","), strings.TrimSpace)
}
