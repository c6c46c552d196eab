package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// inn is a ClusterServiceVersion with a webhook of each sort that people write.
func inn(change func(*operatorsv1alpha1.ClusterServiceVersion)) operatorsv1alpha1.ClusterServiceVersion {
	csv := operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "inn", Name: "inn.v1"}}
	csv.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{
		{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.inn.io", DeploymentName: "manager"},
		{Type: operatorsv1alpha1.ConversionWebhook, GenerateName: "c.inn.io", DeploymentName: "manager", ConversionCRDs: []string{"rooms.inn.io"}},
	}
	if change != nil {
		change(&csv)
	}
	return csv
}

// Webhooks without a WebhookRollout are reported with the manager that is responsible, if any.
func TestUnreportedWebhooks(t *testing.T) {
	owner := types.NamespacedName{Namespace: "inn", Name: "inn.v1"}
	service := types.NamespacedName{Namespace: "inn", Name: "manager-service"}
	registered := []doctor.Webhook{
		{Kind: doctor.Validating, Object: "v.inn.io-x", Name: "v.inn.io", Service: service, Port: 443, Owner: owner},
		{Kind: doctor.Conversion, Object: "rooms.inn.io", Service: service, Port: 443},
	}
	for name, test := range map[string]struct {
		csv   operatorsv1alpha1.ClusterServiceVersion
		hooks []doctor.Webhook
		ready int
		want  []string
	}{
		"not processed yet": {inn(nil), nil, 0, []string{
			"v.inn.io Validating Waiting NotReconciled: no manager has reconciled its ClusterServiceVersion yet",
			"c.inn.io Conversion Waiting NotReconciled: no manager has reconciled its ClusterServiceVersion yet",
		}},
		"pending": {inn(func(csv *operatorsv1alpha1.ClusterServiceVersion) {
			csv.Status.Phase, csv.Status.Reason, csv.Status.Message = "Pending", "RequirementsNotMet", "one or more requirements couldn't be found"
		}), nil, 0, []string{
			"v.inn.io Validating Waiting RequirementsNotMet: its ClusterServiceVersion is Pending: one or more requirements couldn't be found",
			"c.inn.io Conversion Waiting RequirementsNotMet: its ClusterServiceVersion is Pending: one or more requirements couldn't be found",
		}},
		"another registers them": {inn(nil), registered, 1, []string{"v.inn.io Validating Registered : ", "c.inn.io Conversion Registered : "}},
		"another manager, and no endpoint": {inn(nil), registered, 0, []string{
			"v.inn.io Validating Unreachable NoReadyEndpoints: no endpoint of Service inn/manager-service is ready",
			"c.inn.io Conversion Unreachable NoReadyEndpoints: no endpoint of Service inn/manager-service is ready",
		}},
		"an APIService that no API server can call": {inn(func(csv *operatorsv1alpha1.ClusterServiceVersion) {
			csv.Spec.WebhookDefinitions = nil
			csv.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{
				{Group: "inn.io", Version: "v1", Kind: "Room", DeploymentName: "manager"}, {Group: "inn.io", Version: "v1", Kind: "Bed", DeploymentName: "manager"},
			}
		}), []doctor.Webhook{{Kind: doctor.APIService, Object: "v1.inn.io", Service: service, Port: 443, Owner: owner, Fails: true, Available: metav1.ConditionFalse, Report: "no route"}}, 1, []string{
			"v1.inn.io APIService Unreachable APIServiceUnavailable: API servers report that they cannot call it: no route",
		}},
		"a copy": {inn(func(csv *operatorsv1alpha1.ClusterServiceVersion) {
			csv.Labels = map[string]string{"olm.copiedFrom": "other"}
		}), nil, 0, nil},
		"it leaves": {inn(func(csv *operatorsv1alpha1.ClusterServiceVersion) { csv.Status.Phase = "Replacing" }), nil, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{CSVs: []operatorsv1alpha1.ClusterServiceVersion{test.csv}, Facts: doctor.Facts{
				Webhooks: test.hooks, Services: map[types.NamespacedName]doctor.Service{service: {By: route.ByClusterIP, Ports: map[int32]int{443: test.ready}, Ready: test.ready}},
			}}
			got := lists.Map(Of(f, "inn", now).Webhooks, func(w Webhook) string {
				return w.Name + " " + w.Type + " " + w.State + " " + w.Reason + ": " + w.Problem
			})
			installtest.Same(t, "webhooks", test.want, got)
		})
	}
}

// A webhook is reported as live only if API servers call it and an endpoint answers.
func TestWebhooksThatWereLive(t *testing.T) {
	serving := func(s doctor.Service) func(*Facts) {
		return func(f *Facts) {
			f.Services = map[types.NamespacedName]doctor.Service{{Namespace: "shop", Name: "manager-service"}: s}
		}
	}
	for name, test := range map[string]struct {
		change func(f *Facts)
		want   string
	}{
		"it is": {func(*Facts) {}, "Registered : "},
		"no ready endpoint": {serving(doctor.Service{By: route.ByClusterIP, Ports: map[int32]int{443: 0}}),
			"Unreachable NoReadyEndpoints: no endpoint of Service shop/manager-service is ready"},
		"its Service is headless": {serving(doctor.Service{By: route.ByEndpoint, Ports: map[int32]int{443: 1}, Ready: 1}),
			"Unknown HeadlessService: Service shop/manager-service is headless: API servers call it only if all of them run with --enable-aggregator-routing, which cannot be read from the cluster"},
		"its Service is called on its own node only": {serving(doctor.Service{By: route.ByClusterIP, NodeLocal: true, Ports: map[int32]int{443: 1}, Ready: 1}),
			"Unknown NodeLocalService: internalTrafficPolicy of Service shop/manager-service is Local: an API server cannot call it from a node without an endpoint of the Service"},
		"its Service is an external name": {serving(doctor.Service{By: route.ByExternalName, ExternalName: "hook.example.com"}),
			"Unknown NotAsked: API servers call the external name hook.example.com of Service shop/manager-service: whether it answers was not checked"},
		"its Service no longer exists": {func(f *Facts) { f.Services = nil }, "Unreachable ServiceMissing: Service shop/manager-service does not exist"},
		"its registration is too":      {func(f *Facts) { f.Webhooks = nil }, "Waiting NotRegistered: ValidatingWebhookConfiguration v.shop.io-x no longer registers it"},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts()
			test.change(&f)
			all := Of(f, "shop", now).Webhooks
			w := all[slices.IndexFunc(all, func(w Webhook) bool { return w.Name == "v.shop.io" })]
			installtest.Same(t, "webhook", test.want, w.State+" "+w.Reason+": "+w.Problem)
		})
	}
}

// An APIService of a ClusterServiceVersion is reported as live only if API servers report that they can call it.
func TestAPIServiceOfAClusterServiceVersion(t *testing.T) {
	for status, want := range map[metav1.ConditionStatus]string{
		metav1.ConditionTrue:    "Registered : ",
		metav1.ConditionFalse:   "Unreachable APIServiceUnavailable: API servers report that they cannot call it: no route",
		metav1.ConditionUnknown: "Unknown APIServiceUnavailable: API servers do not report whether they can call it",
		"":                      "Unknown APIServiceUnavailable: API servers do not report whether they can call it",
	} {
		f := facts()
		api := &f.Rollouts[0].Status.Deployments[0].APIServices[0]
		api.State, api.Reason, api.Message = managerv1alpha1.WebhookRegistered, "Serving", "serves"
		service := types.NamespacedName{Namespace: "shop", Name: "manager-service"}
		f.Webhooks = append(f.Webhooks, doctor.Webhook{Kind: doctor.APIService, Object: api.Name, Service: service, Port: 443, Fails: true, Available: status, Report: "no route"})
		all := Of(f, "shop", now).Webhooks
		w := all[slices.IndexFunc(all, func(w Webhook) bool { return w.Name == api.Name })]
		installtest.Same(t, "APIService with Available "+string(status), want, w.State+" "+w.Reason+": "+w.Problem)
	}
}

func TestManagerIsAway(t *testing.T) {
	leases := func(all ...coordinationv1.Lease) Facts { return Facts{Leases: all} }
	const header = "NAMESPACE   CSV   WEBHOOK   TYPE   STATE   SINCE   CERTIFICATE   PROBLEM\n"
	away := func(namespace, ago string) string {
		return "No manager holds Lease " + namespace + "/olm-webhook-manager, which was renewed " + ago +
			" ago: its manager renews and repairs nothing, and what it reported may be out of date. If that manager was removed, unregister the webhooks that are left (kubectl webhooks remove-manager --namespaces=), and delete the Lease.\n\n"
	}
	for name, test := range map[string]struct {
		facts Facts
		want  string
	}{
		"there is no Lease": {Facts{}, "No manager has started: no Lease olm-webhook-manager exists. Check its pods: kubectl get deployments,pods -A -l app.kubernetes.io/name=olm-webhook-manager. " +
			"A manager with an empty --leader-election-namespace needs no Lease.\n\n" + header},
		"the kinds are not installed":         {Facts{NoRollouts: true}, "This cluster does not know the kind WebhookRollout: the manager is not installed, and webhooks are shown only by their registrations.\n\n" + header},
		"it was renewed":                      {leases(leaseOf("system", "a", 10*time.Second)), header},
		"it expired":                          {leases(leaseOf("system", "a", 5*time.Minute)), away("system", "5m") + header},
		"a tenant holds one of the same name": {leases(leaseOf("system", "a", time.Hour), leaseOf("tenant", "b", time.Second)), away("system", "60m") + header},
		"two are away":                        {leases(leaseOf("system", "b", 5*time.Minute), leaseOf("old", "a", time.Hour)), away("old", "60m") + away("system", "5m") + header},
		"Leases may not be listed":            {Facts{LeasesUnread: "leases is forbidden"}, "Whether a manager runs is not known: leases is forbidden\n\n" + header},
	} {
		t.Run(name, func(t *testing.T) {
			var printed strings.Builder
			Of(test.facts, "", now).Print(output.New(&printed), false, now)
			installtest.Same(t, "printed", test.want, printed.String())
		})
	}
}
