package subscriptions

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Availability is what the annotations set for one Deployment. The zero value sets nothing.
type Availability struct {
	// Replicas replaces the number of the ClusterServiceVersion; zero keeps it.
	Replicas int32
	// Spread are constraints without a selector. Each has another topology key.
	Spread []corev1.TopologySpreadConstraint
	// PriorityClass is the name of a PriorityClass; empty keeps that of the author.
	PriorityClass string
	// Budget limits evictions of the pods; nil for no PodDisruptionBudget.
	Budget *Budget
}

// availabilityPrefix begins the annotations about availability, and misspelt ones.
const availabilityPrefix = wellknown.AnnotationPrefix + "availability-"

var availabilityAnnotations = []string{
	wellknown.AnnotationAvailabilityReplicas, wellknown.AnnotationAvailabilitySpread, wellknown.AnnotationAvailabilityPriorityClass,
	wellknown.AnnotationAvailabilityBudget,
}

// Availability returns what applies to a Deployment: nothing if it serves no webhook.
func (c Config) Availability(csv *operatorsv1alpha1.ClusterServiceVersion, spec operatorsv1alpha1.StrategyDeploymentSpec) Availability {
	r := c.availabilityReader(csv)
	if !r.any() || len(csvspec.Descriptions(csv, spec.Name)) == 0 {
		return Availability{}
	}
	a := r.read()
	if a.Replicas > 1 && !r.mayRunReplicas(spec) {
		a.Replicas = 0
	}
	if c.UnusablePriorityClass != "" && !c.KeepsPriorityClass[spec.Name] {
		a.PriorityClass = ""
	}
	return a
}

// PriorityClass returns the name of the PriorityClass that the annotations ask for, whether it exists or not; empty for none.
func (c Config) PriorityClass(csv *operatorsv1alpha1.ClusterServiceVersion) string {
	if r := c.availabilityReader(csv); r.any() && len(servingDeployments(csv)) > 0 {
		return r.read().PriorityClass
	}
	return ""
}

func servingDeployments(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1alpha1.StrategyDeploymentSpec {
	return lists.Filter(csvspec.Deployments(csv), func(spec operatorsv1alpha1.StrategyDeploymentSpec) bool {
		return len(csvspec.Descriptions(csv, spec.Name)) > 0
	})
}

// availabilityRefusals returns which annotations are ignored, with the next step.
func (c Config) availabilityRefusals(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	r := c.availabilityReader(csv)
	if !r.any() {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(r.annotations)) {
		if strings.HasPrefix(key, availabilityPrefix) && !slices.Contains(availabilityAnnotations, key) {
			r.refuse("%s is not known: correct it to one of %s", key, strings.Join(availabilityAnnotations, ", "))
		}
	}
	r.refuseDeclarations()
	a, serving := r.read(), servingDeployments(csv)
	if len(serving) == 0 {
		r.refuse("%s* have no effect, because no Deployment of ClusterServiceVersion %s serves a webhook: remove them", availabilityPrefix, csv.Name)
		return r.refusals
	}
	for _, spec := range serving {
		if a.Replicas > 1 && !r.mayRunReplicas(spec) {
			r.refuse("%s does not apply to Deployment %s, because its operator is not known to elect a leader: if it does, set %s to \"true\"",
				wellknown.AnnotationAvailabilityReplicas, spec.Name, wellknown.AnnotationLeaderElection)
		}
	}
	if a.PriorityClass != "" && c.UnusablePriorityClass != "" {
		ignored := "is ignored"
		if len(c.KeepsPriorityClass) > 0 {
			ignored = "is ignored where pods do not have it"
		}
		r.refuse("%s %s: %s", wellknown.AnnotationAvailabilityPriorityClass, ignored, c.UnusablePriorityClass)
	}
	return r.refusals
}

// availabilityReader reads the annotations of one source.
type availabilityReader struct {
	csv         *operatorsv1alpha1.ClusterServiceVersion
	annotations map[string]string
	source      string
	refusals    []string
}

func (c Config) availabilityReader(csv *operatorsv1alpha1.ClusterServiceVersion) *availabilityReader {
	if c.Subscription == "" {
		return &availabilityReader{csv: csv, annotations: csv.Annotations, source: fmt.Sprintf("ClusterServiceVersion %s: metadata.annotations", csv.Name)}
	}
	return &availabilityReader{csv: csv, annotations: c.Annotations, source: fmt.Sprintf("Subscription %s: spec.config.annotations", c.Subscription)}
}

func (r *availabilityReader) refuse(format string, args ...any) {
	r.refusals = append(r.refusals, r.source+", "+fmt.Sprintf(format, args...))
}

// any reports whether an annotation concerns availability.
func (r *availabilityReader) any() bool {
	for key := range r.annotations {
		if strings.HasPrefix(key, availabilityPrefix) {
			return true
		}
	}
	return false
}

func (r *availabilityReader) read() Availability {
	return Availability{Replicas: r.replicas(), Spread: r.spread(), PriorityClass: r.priorityClass(), Budget: r.budget()}
}

func (r *availabilityReader) replicas() int32 {
	text, set := r.annotations[wellknown.AnnotationAvailabilityReplicas]
	if !set {
		return 0
	}
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil || number < 1 {
		r.refuse("%s is %q, which is no number of replicas: set one such as \"2\"", wellknown.AnnotationAvailabilityReplicas, text)
		return 0
	}
	return int32(number)
}

func (r *availabilityReader) priorityClass() string {
	name, set := r.annotations[wellknown.AnnotationAvailabilityPriorityClass]
	if set && len(validation.IsDNS1123Subdomain(name)) > 0 {
		r.refuse("%s is %q, which is no name of a PriorityClass: correct it", wellknown.AnnotationAvailabilityPriorityClass, name)
		return ""
	}
	return name
}
