package scope

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

func TestGroupStatus(t *testing.T) {
	morning := metav1.NewTime(noon.Add(-3 * time.Hour))
	at := metav1.NewTime(noon)
	other := metav1.Condition{
		Type: "OperatorGroupServiceAccount", Status: metav1.ConditionTrue,
		Reason: "ServiceAccountNotFound", LastTransitionTime: morning,
	}
	multiple := func(since metav1.Time) metav1.Condition {
		return metav1.Condition{
			Type: "MultipleOperatorGroup", Status: metav1.ConditionTrue, Reason: "MultipleOperatorGroupsFound",
			Message:            "Multiple OperatorGroup found in the same namespace: a, b; keep one of them",
			LastTransitionTime: since,
		}
	}
	invalid := func(since metav1.Time) metav1.Condition {
		return metav1.Condition{
			Type: "olm-webhook-manager.io/InvalidNamespaceSelection", Status: metav1.ConditionTrue,
			Reason:             "InvalidNamespaceSelection",
			Message:            `spec.selector of OperatorGroup "a" is not valid: "Like" is not a valid label selector operator; correct it`,
			LastTransitionTime: since,
		}
	}
	statusOf := func(updated *metav1.Time, namespaces []string, conditions ...metav1.Condition) operatorsv1.OperatorGroupStatus {
		return operatorsv1.OperatorGroupStatus{Namespaces: namespaces, LastUpdated: updated, Conditions: conditions}
	}
	referring := func(updated metav1.Time) operatorsv1.OperatorGroupStatus {
		status := statusOf(&updated, []string{"red"})
		status.ServiceAccountRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "ServiceAccount", Namespace: "own", Name: "installer", UID: "uid-of-installer"}
		return status
	}
	labelRefusedSince := func(since metav1.Time) metav1.Condition {
		return metav1.Condition{
			Type: "olm-webhook-manager.io/NamespaceLabelRefused", Status: metav1.ConditionTrue, Reason: "NamespaceLabelRefused", LastTransitionTime: since,
			Message: "label " + LabelOf(groupOf("a")) + " cannot be changed: Namespace blue: forbidden; Namespace c: denied; Namespace d: denied; and 2 more: " +
				"let the manager change the labels of these Namespaces, or remove them from the OperatorGroup",
		}
	}

	for name, test := range map[string]struct {
		group      *operatorsv1.OperatorGroup
		others     []*operatorsv1.OperatorGroup
		account    *corev1.ServiceAccount
		refused    map[string]string
		annotation string
		before     operatorsv1.OperatorGroupStatus
		want       operatorsv1.OperatorGroupStatus
	}{
		"a new group": {group: groupOf("a"), want: statusOf(&at, []string{""})},
		"nothing to report about a new group except the time": {group: groupOf("a", selecting(team("green"))), want: statusOf(&at, nil)},
		"its annotation is refused": {
			group: groupOf("a"), annotation: "forbidden",
			want: statusOf(&at, []string{""}, metav1.Condition{
				Type: "olm-webhook-manager.io/AnnotationRefused", Status: metav1.ConditionTrue, Reason: "AnnotationRefused", LastTransitionTime: at,
				Message: "annotation olm.providedAPIs is not written: forbidden",
			}),
		},
		"its ServiceAccount is as before": {
			group: groupOf("a", targeting("red"), actingAs("installer")), account: installer, before: referring(morning), want: referring(morning),
		},
		"nothing changed": {
			group:  groupOf("a", targeting("red", "blue")),
			before: statusOf(&morning, []string{"blue", "red"}, other),
			want:   statusOf(&morning, []string{"blue", "red"}, other),
		},
		"other targets, and what others wrote stays": {
			group:  groupOf("a", selecting(anyTeam)),
			before: statusOf(&morning, []string{"red"}, other),
			want:   statusOf(&at, []string{"blue", "red"}, other),
		},
		"no targets any more": {group: groupOf("a", selecting(team("green"))), before: statusOf(&morning, []string{"red"}), want: statusOf(&at, nil)},
		"a second group": {
			group: groupOf("a"), others: []*operatorsv1.OperatorGroup{groupOf("b")},
			before: statusOf(&morning, []string{""}, other),
			want:   statusOf(&at, []string{""}, other, multiple(at)),
		},
		"still a second group": {
			group: groupOf("a"), others: []*operatorsv1.OperatorGroup{groupOf("b")},
			before: statusOf(&morning, []string{""}, multiple(morning)),
			want:   statusOf(&morning, []string{""}, multiple(morning)),
		},
		"the second group is being deleted": {
			group: groupOf("a"), others: []*operatorsv1.OperatorGroup{groupOf("b", deleted)},
			before: statusOf(&morning, []string{""}, other, multiple(morning)),
			want:   statusOf(&at, []string{""}, other),
		},
		"a ServiceAccount that exists": {
			group: groupOf("a", targeting("red"), actingAs("installer")), account: installer,
			before: statusOf(&morning, []string{"red"}, missingAccount(morning)),
			want:   referring(at),
		},
		"another ServiceAccount": {
			group: groupOf("a", targeting("red"), actingAs("installer")), account: installer,
			before: operatorsv1.OperatorGroupStatus{Namespaces: []string{"red"}, ServiceAccountRef: &corev1.ObjectReference{Name: "other"}},
			want:   referring(at),
		},
		"a ServiceAccount that was recreated": {
			group: groupOf("a", targeting("red"), actingAs("installer")), account: installer,
			before: operatorsv1.OperatorGroupStatus{Namespaces: []string{"red"}, LastUpdated: &morning, ServiceAccountRef: &corev1.ObjectReference{Name: "installer", UID: "other"}},
			want:   referring(at),
		},
		"its ServiceAccount is not named any more": {
			group:  groupOf("a", targeting("red")),
			before: referring(morning),
			want:   statusOf(&at, []string{"red"}),
		},
		"a ServiceAccount that is not": {
			group:  groupOf("a", targeting("red"), actingAs("installer")),
			before: statusOf(&morning, []string{"red"}),
			want:   statusOf(&at, []string{"red"}, missingAccount(at)),
		},
		"a ServiceAccount that is not named any more": {
			group:  groupOf("a", targeting("red")),
			before: statusOf(&morning, []string{"red"}, missingAccount(morning)),
			want:   statusOf(&at, []string{"red"}),
		},
		"a selector that is not valid leaves the namespaces": {
			group:  groupOf("a", selecting(invalidSelector)),
			before: statusOf(&morning, []string{"red"}),
			want:   statusOf(&at, []string{"red"}, invalid(at)),
		},
		"a corrected selector": {
			group:  groupOf("a", selecting(anyTeam)),
			before: statusOf(&morning, []string{"blue", "red"}, invalid(morning)),
			want:   statusOf(&at, []string{"blue", "red"}),
		},
		"Namespaces that cannot be labelled": {
			group:   groupOf("a", targeting("red")),
			refused: map[string]string{"red": "denied", "blue": "forbidden", "c": "denied", "d": "denied", "e": "denied"},
			before:  statusOf(&morning, []string{"red"}),
			want:    statusOf(&at, []string{"red"}, labelRefusedSince(at)),
		},
		"Namespaces that can be labelled again": {
			group:  groupOf("a", targeting("red")),
			before: statusOf(&morning, []string{"red"}, labelRefusedSince(morning)),
			want:   statusOf(&at, []string{"red"}),
		},
		"being deleted itself": {
			group:  groupOf("a", targeting("red"), deleted),
			before: statusOf(&morning, []string{"blue"}, multiple(morning)),
			want:   statusOf(&morning, []string{"blue"}, multiple(morning)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.group.Status = *test.before.DeepCopy()
			status, changed := GroupStatus(test.group, append(test.others, test.group), cluster, test.account, Refused{Labels: test.refused, ProvidedAPIs: test.annotation}, noon)
			same(t, "status", test.want, status, emptyIsNil)
			same(t, "changed", !cmp.Equal(test.before, test.want, emptyIsNil), changed)
			same(t, "the group itself", test.before, test.group.Status)

			test.group.Status = status
			if _, again := GroupStatus(test.group, append(test.others, test.group), cluster, test.account, Refused{Labels: test.refused, ProvidedAPIs: test.annotation}, noon.Add(time.Hour)); again {
				t.Error("a second reconciliation changes the status again")
			}
		})
	}
}

func TestRefusedLabels(t *testing.T) {
	same(t, "message", "Namespace red: denied: let the manager change the labels of these Namespaces, or remove them from the OperatorGroup",
		RefusedLabels([]string{"red"}, map[string]string{"red": "denied"}))
}

var emptyIsNil = cmp.Transformer("emptyIsNil", func(conditions []metav1.Condition) map[string]metav1.Condition {
	byType := map[string]metav1.Condition{}
	for _, condition := range conditions {
		byType[condition.Type] = condition
	}
	return byType
})

var installer = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "installer", UID: "uid-of-installer"}}

func actingAs(account string) func(*operatorsv1.OperatorGroup) {
	return func(group *operatorsv1.OperatorGroup) { group.Spec.ServiceAccountName = account }
}

func missingAccount(at metav1.Time) metav1.Condition {
	return metav1.Condition{
		Type: "OperatorGroupServiceAccount", Status: metav1.ConditionTrue, Reason: "ServiceAccountNotFound", LastTransitionTime: at,
		Message: "ServiceAccount installer not found: create it in namespace own, or remove spec.serviceAccountName",
	}
}
