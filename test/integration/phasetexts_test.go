package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

type says struct {
	phase   operatorsv1alpha1.ClusterServiceVersionPhase
	reason  operatorsv1alpha1.ConditionReason
	message string
}

// Scripts that were written for OLM v0 compare phase, reason and message as a whole. docs/admin/compatibility.md names
// the test of every other thing that they rely on.
func TestPhaseTexts(t *testing.T) {
	const pending, failed = operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVPhaseFailed
	unmet := says{pending, "RequirementsNotMet", "one or more requirements couldn't be found"}
	for name, test := range map[string]struct {
		groups []operatorsv1.OperatorGroupSpec
		change func(*operatorsv1alpha1.ClusterServiceVersion)
		want   says
	}{
		"no group": {nil, unchanged, says{failed, "NoOperatorGroup", "csv in namespace with no operatorgroups"}},
		"two groups": {groups(allNamespaces, allNamespaces), unchanged,
			says{failed, "TooManyOperatorGroups", "csv created in namespace with multiple operatorgroups, can't pick one automatically"}},
		"no namespace matched": {groups(selecting("other.example.com/has", "this")), unchanged,
			says{failed, "NoTargetNamespaces", "no targetNamespaces are matched operatorgroups namespace selection"}},
		"all namespaces not supported": {groups(allNamespaces), supporting(operatorsv1alpha1.InstallModeTypeOwnNamespace),
			says{failed, "UnsupportedOperatorGroup", "AllNamespaces InstallModeType not supported, cannot configure to watch all namespaces"}},
		"its own namespace not supported": {groups(namespaces(ownNamespace)), supporting(operatorsv1alpha1.InstallModeTypeAllNamespaces),
			says{failed, "UnsupportedOperatorGroup", "OwnNamespace InstallModeType not supported, cannot configure to watch own namespace"}},
		"another namespace not supported": {groups(namespaces("elsewhere")), supporting(operatorsv1alpha1.InstallModeTypeOwnNamespace),
			says{failed, "UnsupportedOperatorGroup", "SingleNamespace InstallModeType not supported, cannot configure to watch one namespace"}},
		"two namespaces not supported": {groups(namespaces("here", "there")), supporting(operatorsv1alpha1.InstallModeTypeOwnNamespace),
			says{failed, "UnsupportedOperatorGroup", "MultiNamespace InstallModeType not supported, cannot configure to watch 2 namespaces"}},
		"a ServiceAccount is missing": {groups(allNamespaces), func(c *operatorsv1alpha1.ClusterServiceVersion) { needs(c, "absent") }, unmet},
		"a permission is missing":     {groups(allNamespaces), func(c *operatorsv1alpha1.ClusterServiceVersion) { askingTheCluster(c, readPods) }, unmet},
		"a definition is missing": {groups(allNamespaces), func(c *operatorsv1alpha1.ClusterServiceVersion) {
			c.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: "not.in.cluster.com", Version: "v1alpha1", Kind: "NotInCluster"}}
		}, unmet},
		"an APIService is missing": {groups(allNamespaces), func(c *operatorsv1alpha1.ClusterServiceVersion) {
			c.Spec.APIServiceDefinitions.Required = []operatorsv1alpha1.APIServiceDescription{{Group: "bad.example.com", Version: "v1", Kind: "PackageManifest"}}
		}, unmet},
		"a newer Kubernetes is needed": {groups(allNamespaces), func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.MinKubeVersion = "99.0.0" }, unmet},
		"two webhooks of one name": {groups(allNamespaces), func(c *operatorsv1alpha1.ClusterServiceVersion) {
			c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, c.Spec.WebhookDefinitions[0])
		}, says{failed, "InvalidWebhookDescription", "CSV contains repeated WebhookDescription name"}},
		"a webhook on all groups":       {groups(allNamespaces), intercepting("*"), says{failed, "InvalidWebhookDescription", onAllGroups}},
		"a webhook on OLM's group":      {groups(allNamespaces), intercepting(olm), says{failed, "InvalidWebhookDescription", onOLM}},
		"a webhook on its registration": {groups(allNamespaces), intercepting(admission), says{failed, "InvalidWebhookDescription", onConfigurations}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			for i, spec := range test.groups {
				if len(spec.TargetNamespaces) == 1 && spec.TargetNamespaces[0] == ownNamespace {
					spec = namespaces(e.namespace)
				}
				e.group(fmt.Sprint("og", i), spec)
			}
			e.manage(patiently)
			c := csv("operator.v1", "server")
			test.change(c)
			e.create(c)
			comesToSay(e, "operator.v1", test.want)
		})
	}
}

// ownNamespace stands for the name of the test's.
const ownNamespace = "OWN"

func groups(specs ...operatorsv1.OperatorGroupSpec) []operatorsv1.OperatorGroupSpec { return specs }

func unchanged(*operatorsv1alpha1.ClusterServiceVersion) {}

func supporting(mode operatorsv1alpha1.InstallModeType) func(*operatorsv1alpha1.ClusterServiceVersion) {
	return func(c *operatorsv1alpha1.ClusterServiceVersion) { support(c, mode) }
}

func intercepting(group string) func(*operatorsv1alpha1.ClusterServiceVersion) {
	return func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.WebhookDefinitions[0].Rules = []admissionregistrationv1.RuleWithOperations{{
			Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{"*"}},
		}}
	}
}

// The conditions of a lifecycle without errors, in their order, and the conditions of one that fails later.
func TestPhasesOfALifecycle(t *testing.T) {
	e := newGroupEnv(t)
	m := e.manage(func(o *controller.Options) { o.Rollout.InstallTimeout = time.Second })
	e.create(needs(csv("operator.v1", "server"), "account"))
	comesToSay(e, "operator.v1", says{"Pending", "RequirementsNotMet", "one or more requirements couldn't be found"})
	m.emits("Normal RequirementsNotMet one or more requirements couldn't be found")
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("account")})
	m.emits("Normal AllRequirementsMet all requirements found, attempting install")
	comesToSay(e, "operator.v1", says{"Failed", "InstallCheckFailed", "install timeout"})
	setAvailable(e, "server", true)
	comesToSay(e, "operator.v1", says{"Succeeded", "InstallSucceeded", "install strategy completed with no errors"})
	setAvailable(e, "server", false)
	e.reaches("operator.v1", "Failed", "ComponentUnhealthy")
	setAvailable(e, "server", true)
	comesToSay(e, "operator.v1", says{"Succeeded", "InstallSucceeded", "install strategy completed with no errors"})
	saidInOrder(e, "operator.v1",
		says{"Pending", "RequirementsUnknown", "requirements not yet checked"},
		says{"Pending", "RequirementsNotMet", "one or more requirements couldn't be found"},
		says{"InstallReady", "AllRequirementsMet", "all requirements found, attempting install"},
		says{"Installing", "InstallSucceeded", "waiting for install components to report healthy"},
		says{"Failed", "InstallCheckFailed", "install timeout"},
		says{"Pending", "NeedsReinstall", "calculated deployment install is bad"},
		says{"Succeeded", "InstallSucceeded", "install strategy completed with no errors"},
		says{"Failed", "ComponentUnhealthy", ""},
		says{"Succeeded", "InstallSucceeded", "install strategy completed with no errors"},
	)

	const hold = "example.com/hold" // so that the old version can be observed to the end
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Finalizers = append(c.Finalizers, hold) })
	e.create(replacing("operator.v1", csv("operator.v2", "server")))
	comesToSay(e, "operator.v1", says{"Replacing", "BeingReplaced", "being replaced by csv: operator.v2"})
	e.runDeployments()
	comesToSay(e, "operator.v1", says{"Deleting", "Replaced", "has been replaced by a newer ClusterServiceVersion that has successfully installed."})
	comesToSay(e, "operator.v2", says{"Succeeded", "InstallSucceeded", "install strategy completed with no errors"})
	e.eventually("nothing else holds the old version", func() (bool, any) {
		old := e.get("operator.v1")
		return old.DeletionTimestamp != nil && slices.Equal(old.Finalizers, []string{hold}), old.Finalizers
	})
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Finalizers = nil })
	noLongerExist(e, "operator.v1")
}

func comesToSay(e *env, csv string, want says) {
	e.Helper()
	e.eventually(fmt.Sprintf("%s reports %v", csv, want), func() (bool, any) {
		s := e.get(csv).Status
		got := says{s.Phase, s.Reason, s.Message}
		return got == want, got
	})
}

// saidInOrder expects these among the conditions, in this order. Conditions continue after OLM's message to explain it.
func saidInOrder(e *env, csv string, wanted ...says) {
	e.Helper()
	for _, c := range e.get(csv).Status.Conditions {
		if len(wanted) > 0 && c.Phase == wanted[0].phase && c.Reason == wanted[0].reason && strings.HasPrefix(c.Message, wanted[0].message) {
			wanted = wanted[1:]
		}
	}
	none(e, "conditions that were not reported, or not in order", wanted)
}
