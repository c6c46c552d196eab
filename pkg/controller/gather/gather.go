// Package gather reads the facts about a ClusterServiceVersion.
package gather

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/versions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Gatherer reads the facts about a ClusterServiceVersion.
type Gatherer struct {
	clients.Set
	*records.Records
	Settings decide.Settings
	Proxy    subscriptions.Proxy // for pods of operators in a cluster without OpenShift's Proxy
	Caches   *informers.Caches
	OnDemand *informers.OnDemand
	// AdoptedPods are those without the manager's label.
	AdoptedPods  *informers.AdoptedPods
	OtherBudgets *informers.OtherBudgets
	Served       discovery.APIServer
	Versions     *versions.Index
}

// Gather reads the caches and the API server. It starts the caches that are filled on demand. deleting is set if
// the ClusterServiceVersion is being deleted while registrations of it stay.
func (g *Gatherer) Gather(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage, deleting bool, now time.Time) (decide.Facts, error) {
	s := g.cached(csv, relatives, now)
	s.Deleting = deleting
	if err := g.awaitSubscription(ctx, s, now); err != nil {
		return decide.Facts{}, err
	}
	err := addPriorityClass(ctx, g.Kube, s)
	if err != nil {
		return decide.Facts{}, err
	}
	by := discovery.NewAsker(queue.CSVKey(csv.Namespace, csv.Name))
	g.addServedKinds(s, by)
	s.Observed.ReservedGroups = g.reservedGroups(s)
	s.Observed.Catalog = g.catalog(csv, by)
	s.Observed.OccupiedGroups = g.occupiedGroups(s, relatives)
	if s.Failure == nil {
		s.Observed.UnlabelledNamespaces, s.Observed.LabelRefusals = g.Versions.Unlabelled(s.Scope), g.LabelRefusals.Of(scope.LabelOf(s.Scope.Group))
		s.Failure = g.failure(s)
	}
	g.addSecrets(s)
	s.Observed.Lifted = g.lifted(s)
	if g.Settings.LiftRoles && s.Failure == nil {
		s.Grants = g.grants(s, s.Observed.Lifted, s.Observed.Lifted)
	}
	g.addOwned(s)
	addBudgets(g, s)
	if s.Requirements, err = g.requirements(ctx, s, relatives); err != nil {
		return decide.Facts{}, err
	}
	g.addAPIs(&s.Requirements, by)
	if !deleting {
		s.Upgrade.NotUpgradeable, err = g.notUpgradeable(s.Upgrade)
	}
	return *s, err
}

func (g *Gatherer) cached(csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage, now time.Time) *decide.Facts {
	ids := informers.OwnerIDs(csv, relatives.Older)
	deployments, services := g.Caches.Deployments.OfOwners(ids), g.Caches.Services.OfOwners(ids)
	ownership := g.Versions.OwnershipOf(append([]*operatorsv1alpha1.ClusterServiceVersion{csv}, relatives.Older...)...)
	s := &decide.Facts{
		Settings:    g.Settings,
		CSV:         csv,
		Config:      g.Versions.ConfigOf(csv).WithProxy(g.proxy()),
		Ownership:   ownership,
		Rollout:     g.Caches.Rollouts.Get(csv.Namespace, csv.Name),
		Definitions: g.ruleDefinitions(csv),
		Condition:   g.condition(csv),
		Requestable: g.requestable(),
		Observed: rollout.Observed{
			Deployments:    byName(deployments),
			Services:       byName(services),
			Slices:         slicesOf(g.Caches.Slices, services),
			Pods:           podsOf(g, csv, ids, deployments),
			Roles:          byName(inNamespace(csv.Namespace, g.Caches.Roles.OfOwners(ids))),
			RoleBindings:   byName(inNamespace(csv.Namespace, delegating(g.Caches.RoleBindings.OfOwners(ids), false))),
			AuthDelegators: byName(owners.Proven(ownership, delegating(g.Caches.ClusterRoleBindings.OfOwners(ids), true))),
			AuthReaders:    byName(owners.Proven(ownership, delegating(g.Caches.RoleBindings.OfOwners(ids), true))),
			Validating:     withoutMarkers(g, owners.Proven(ownership, g.Caches.Validating.OfOwners(ids))),
			Mutating:       withoutMarkers(g, owners.Proven(ownership, g.Caches.Mutating.OfOwners(ids))),
			APIServices:    owners.Proven(ownership, g.Caches.APIServices.OfOwners(ids)),
			CRDs:           g.Convertible(csv, ids),
			Announced:      map[schema.GroupVersion]time.Time{},
			ServedKinds:    map[schema.GroupVersionKind]bool{},
			Undiscovered:   map[schema.GroupVersion]bool{},
		},
	}
	s.Scope, s.Failure = g.Versions.ScopeOf(csv.Namespace)
	s.Installer = installerOf(s.Scope.Group, g.Caches.Accounts, g.Settings.WithOLM)
	s.Upgrade = g.Versions.UpgradeOf(csv, relatives, s.Scope.Group)
	if s.Rollout != nil {
		s.Status = s.Rollout.Status
	}
	s.Recorded, s.Memories = recorded(g.Caches, csv, slices.Concat(relatives.Older, g.Versions.SiblingsOf(csv, relatives))), g.FailOpen.Of(csv)
	s.Observed.Writes, s.Observed.Contests = g.Repairs.Of(records.NameOf(csv), relatives.Older, now)
	s.Observed.Calls, s.Observed.APIServers = g.Calls.Last(), g.Beginnings.Last()
	s.Observed.CreationTimes = g.CreationTimes.Of(s.Observed.RegistrationUIDs())
	return s
}

// withoutMarkers leaves out the markers about which API servers are being asked.
func withoutMarkers[T metav1.Object](g *Gatherer, configurations []T) []T {
	return lists.Filter(configurations, func(o T) bool { return !g.Markers.Has(o.GetName()) })
}

// recorded returns the status of a version, which is empty if it has none, and those of others. An upgrade to a sibling may be undone
// now: its openings are not returned yet.
func recorded(caches *informers.Caches, csv *operatorsv1alpha1.ClusterServiceVersion, others []*operatorsv1alpha1.ClusterServiceVersion) []managerv1alpha1.WebhookRolloutStatus {
	all := []managerv1alpha1.WebhookRolloutStatus{{}}
	if r := caches.Rollouts.Get(csv.Namespace, csv.Name); r != nil {
		all[0] = r.Status
	}
	for _, version := range others {
		if r := caches.Rollouts.Get(version.Namespace, version.Name); r != nil {
			all = append(all, r.Status)
		}
	}
	return all
}

// failure is why the OperatorGroup does not allow the installation; nil if it does.
func (g *Gatherer) failure(s *decide.Facts) *scope.Failure {
	if failure := s.Scope.Supported(s.CSV); failure != nil {
		return failure
	}
	own := g.Versions.ClaimantOf(s.CSV)
	if failure := s.Scope.Conflict(own, g.Versions.Rivals(own, s.Scope)); failure != nil {
		return failure
	}
	if failure := g.reservedAPI(s); failure != nil {
		return failure
	}
	return g.occupiedAPI(s)
}

// refusal returns why an existing object cannot belong to the ClusterServiceVersion; empty when it can.
func (g *Gatherer) refusal(s *decide.Facts, o drift.Object) string {
	return s.Adopter(g.Versions.Exists).Refusal(o)
}

func (g *Gatherer) requirements(ctx context.Context, s *decide.Facts, relatives lineage.Lineage) (requirements.Facts, error) {
	csv := s.CSV
	facts := requirements.Facts{
		CSV: csv, Targets: s.Scope.Namespaces,
		ServiceAccounts: g.Caches.Accounts.Existing(csv.Namespace, csvspec.ServiceAccounts(csv)), Access: g.access(csv, s.Scope.Namespaces, nil),
		CRDs: g.withRequired(csv, s.Observed.CRDs), Converters: g.otherConverters(informers.OwnerIDs(csv, relatives.Older), s.Observed.CRDs),
		Neighbours: g.Versions.Neighbours(csv, relatives), Began: g.Versions.ClaimantOf(csv).Began,
	}
	g.Versions.AddContenders(&facts, relatives)
	var err error
	facts.ConvertedByOthers, err = g.foreignConversions(ctx, csv, relatives)
	return facts, err
}
