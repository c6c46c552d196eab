package policy

import (
	"regexp"
	"slices"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The integration tests have what the policy does. Its text has the names that the manager uses.
func TestNamesInThePolicy(t *testing.T) {
	p, b := Policy(), Binding()
	for what, name := range map[string]string{"policy": p.Name, "policy of the binding": b.Spec.PolicyName, "binding": b.Name} {
		installtest.Same(t, what, Name, name)
	}
	installtest.Contains(t, p.Spec.MatchConditions[0].Expression, "['"+wellknown.FieldManager+"', '"+deploy.FieldManager+"']")
	installtest.Contains(t, string(policyText), "startsWith('"+wellknown.AnnotationInstalledAlongside+"')")
	known := []string{wellknown.AnnotationPrefix, wellknown.AnnotationHeldPrefix, wellknown.AnnotationGeneration, wellknown.AnnotationPropagated, wellknown.AnnotationCRDPolicy,
		wellknown.AnnotationHeldVersions, wellknown.AnnotationHeldStorageVersion, wellknown.AnnotationHeldConversion, wellknown.AnnotationHeldFor}
	for _, quoted := range regexp.MustCompile(`'`+regexp.QuoteMeta(wellknown.AnnotationPrefix)+`[^']*'`).FindAllString(string(policyText), -1) {
		if name := quoted[1 : len(quoted)-1]; !slices.Contains(known, name) {
			t.Errorf("the policy names the annotation %s, which package wellknown does not define", name)
		}
	}
}
