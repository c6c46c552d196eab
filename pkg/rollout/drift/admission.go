package drift

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Write is the latest write and what admission changed, which the API server stores under the manager's name.
type Write struct {
	uid     types.UID
	version string // of the API server's answer
	desired string // digest of the sent object
	changed string // digest of the fields that differ in the answer, and of their values
	refused []string
}

// WriteOf compares the API server's answer to a write with what was desired.
func WriteOf(desired, answer Object) Write {
	w := Write{uid: answer.GetUID(), version: answer.GetResourceVersion(), desired: digestOf(desired)}
	c := Compare(WithLiveReplicas(answer, desired), answer, ExclusiveFields(desired)...)
	if c.fields().Empty() {
		return w
	}
	w.changed = c.digest()
	w.refused = c.refused(desired)
	return w
}

// Refused returns the fields that admission must not change (see protectedFields).
func (w Write) Refused() (_ Drift, refused bool) {
	return Drift{By: ByAdmission, Fields: w.refused}, w.RefusesAdmission()
}

// RefusesAdmission reports whether admission changed a field that the manager does not accept.
func (w Write) RefusesAdmission() bool { return len(w.refused) > 0 }

// RefusesGrant reports whether admission changed what a role or a binding grants, and to whom.
func (w Write) RefusesGrant() bool {
	return slices.ContainsFunc(w.refused, func(field string) bool {
		return slices.ContainsFunc([]string{"rules", "aggregationRule", "roleRef", "subjects"}, func(part string) bool { return within(field, part) })
	})
}

// Accepts reports whether only changes of admission differ.
func (w Write) Accepts(desired, live Object, c Comparison) bool {
	return w.RepeatedBy(desired, live) && len(w.refused) == 0 && w.changed == c.digest()
}

// RepeatedBy reports whether a write would repeat this one. A cache with an older object proves nothing.
func (w Write) RepeatedBy(desired, live Object) bool {
	if w.desired == "" || w.desired != digestOf(desired) {
		return false
	}
	if live == nil {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(live.GetResourceVersion(), w.version)
	return w.uid == live.GetUID() && (err != nil || order >= 0)
}

// Wrote reports whether the write was to this object, and not to another one with the same name.
func (w Write) Wrote(live Object) bool { return w.uid == live.GetUID() }

// WriteOfDryRun is valid if the answer equals the live object: then admission made the difference.
func WriteOfDryRun(desired, live, answer Object) (w Write, accepted bool) {
	w = WriteOf(desired, answer)
	w.version = live.GetResourceVersion()
	c := Compare(WithLiveReplicas(live, desired), live, ExclusiveFields(desired)...)
	return w, w.Accepts(desired, live, c)
}

// An annotation has the number of replicas, as far as the manager sets it.
func digestOf(desired Object) string {
	if d, ok := desired.(*appsv1.Deployment); ok {
		unscaled := d.DeepCopy()
		unscaled.Spec.Replicas = nil
		desired = unscaled
	}
	text, err := json.Marshal(writable(desired))
	if err != nil {
		panic(err) // it came from JSON types
	}
	return hash(text)
}

func (c Comparison) digest() string {
	fields := c.fields()
	names, err := fields.ToJSON()
	if err != nil {
		panic(err) // they were computed
	}
	values, err := value.ToJSON(c.have.ExtractItems(fields.Leaves()).AsValue())
	if err != nil {
		panic(err) // they came from JSON types
	}
	return hash(names, values)
}

func hash(texts ...[]byte) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d ", len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// refused returns the differing fields that admission must not change.
func (c Comparison) refused(desired Object) []string {
	var all []string
	parts := protectedFields(desired)
	c.fields().Leaves().Iterate(func(p fieldpath.Path) {
		if text := p.String(); isOwnMetadata(p) || slices.ContainsFunc(parts, func(part string) bool { return within(text, part) }) {
			all = append(all, strings.TrimPrefix(text, "."))
		}
	})
	return all
}

func within(path, part string) bool {
	rest, found := strings.CutPrefix(path, part)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// protectedFields decide which server is called, under which trust, who is permitted to do what, or whether nodes can be drained.
func protectedFields(o Object) []string {
	switch o.(type) {
	case *appsv1.Deployment:
		return []string{
			".spec.selector",
			fmt.Sprintf(".spec.template.spec.volumes[name=%q]", wellknown.VolumeWebhookCert),
			fmt.Sprintf(".spec.template.spec.volumes[name=%q]", wellknown.VolumeAPIServiceCert),
		}
	case *corev1.Service:
		return []string{".spec.type", ".spec.selector", ".spec.ports"}
	case *corev1.Secret:
		return []string{".type", ".data"}
	case *policyv1.PodDisruptionBudget:
		return []string{".spec.selector", ".spec.maxUnavailable", ".spec.minAvailable"}
	case *rbacv1.Role, *rbacv1.ClusterRole:
		return []string{".rules", ".aggregationRule"}
	case *rbacv1.RoleBinding, *rbacv1.ClusterRoleBinding:
		return []string{".subjects", ".roleRef"}
	case *apiextensionsv1.CustomResourceDefinition:
		return []string{".spec.conversion"}
	case *unstructured.Unstructured: // a Certificate or an Issuer; other kinds have none of these fields
		return []string{".spec.issuerRef", ".spec.secretName", ".spec.dnsNames", ".spec.isCA", ".spec.usages", ".spec.ca", ".spec.selfSigned"}
	default:
		return ExclusiveFields(o)
	}
}

// The manager depends on these labels, annotations and owner references.
func isOwnMetadata(p fieldpath.Path) bool {
	for i, element := range p {
		if element.FieldName == nil {
			continue
		}
		switch *element.FieldName {
		case "ownerReferences":
			return i == 1
		case "labels", "annotations":
			return i+1 < len(p) && p[i+1].FieldName != nil && isOwnKey(*p[i+1].FieldName)
		}
	}
	return false
}

func isOwnKey(key string) bool {
	return strings.HasPrefix(key, "olm.") || strings.HasPrefix(key, wellknown.AnnotationPrefix) || key == wellknown.AnnotationCAHash
}

// AdmissionMessage returns the message of a change by admission.
func AdmissionMessage(key string, drift Drift) string {
	return fmt.Sprintf("%s: %s changed by admission", key, strings.Join(drift.Fields, ", "))
}
