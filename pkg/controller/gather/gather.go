// Package gather reads the facts about a ClusterServiceVersion.
package gather

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/versions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Snapshot is what a reconciliation of a ClusterServiceVersion works with: the facts of the current
// round, and what it has done.
type Snapshot struct {
	decide.Facts

	Rollout *managerv1alpha1.WebhookRollout

	DryRuns  map[string]bool         // dry runs, by key of the object
	Written  map[string]rollout.Verb // steps for issuers and operators, by key of the object
	Deferred error                   // of writes that do not keep the status from being written
}

// Gatherer reads the facts about a ClusterServiceVersion.
type Gatherer struct {
	clients.Set
	Certificates  certs.Policy
	Rollout       rollout.Policy
	LiftRoles     bool
	Caches        *informers.Caches
	Contested     *records.FieldContests
	CreationTimes *records.CreationTimes
	Foreign       *informers.OnDemand
	Now           func() time.Time
	Repairs       *records.Repairs
	Self          string
	Served        discovery.APIServer
	Unlabelled    *records.LabelRefusals
	Versions      *versions.Reader
}

// Gather reads the caches, and what the API server says of itself where a
// ClusterServiceVersion depends on that; nothing else.
func (g *Gatherer) Gather(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) (*Snapshot, error) {
	ids := informers.OwnerIDs(csv, relatives.Older)
	s := g.snapshotOf(csv, ids, g.Versions.OwnershipOf(append([]*operatorsv1alpha1.ClusterServiceVersion{csv}, relatives.Older...)...))
	s.Observed.Writes, s.Observed.Contests = g.Repairs.Of(records.NameOf(csv), relatives.Older, g.Now())
	g.addPods(s, ids)
	g.addDelegations(s, ids)
	g.addCondition(s)
	by := discovery.NewAsker(queue.CSVKey(csv.Namespace, csv.Name))
	g.addServedKinds(s, by)
	s.Observed.ReservedGroups = g.reservedGroups(s)
	s.Observed.Catalog = g.catalog(csv, by)
	s.Scope, s.Failure = g.Versions.ScopeOf(csv.Namespace)
	s.Upgrade = g.Versions.UpgradeOf(csv, relatives, s.Scope.Group)
	s.Observed.OccupiedGroups = g.occupiedGroups(s, relatives)
	g.addSecrets(s)
	s.Observed.Lifted = g.lifted(s)
	if s.Failure == nil {
		s.Observed.UnlabelledNamespaces, s.Observed.LabelRefusals = g.Versions.Unlabelled(s.Scope), g.Unlabelled.Of(scope.LabelOf(s.Scope.Group))
		s.Failure = g.failure(s)
	}
	var err error
	if s.Requirements, err = g.requirements(ctx, csv, relatives, s); err != nil {
		return nil, err
	}
	g.addAPIs(&s.Requirements, by)
	if g.LiftRoles && s.Failure == nil {
		s.Grants = g.grants(s, s.Observed.Lifted)
	}
	g.addOwned(s)
	return s, nil
}

// snapshotOf is what the caches show of a ClusterServiceVersion and of what it owns.
func (g *Gatherer) snapshotOf(csv *operatorsv1alpha1.ClusterServiceVersion, ids []string, ownership owners.Ownership) *Snapshot {
	s := &Snapshot{
		Rollout: g.Caches.Rollouts.Get(csv.Namespace, csv.Name),
		DryRuns: map[string]bool{},
		Written: map[string]rollout.Verb{},
	}
	s.Facts = decide.Facts{
		Settings:  decide.Settings{Rollout: g.Rollout, Certificates: g.Certificates, Manager: g.Self, LiftRoles: g.LiftRoles},
		CSV:       csv,
		Config:    g.Versions.ConfigOf(csv),
		Ownership: ownership,
		Exists:    func(owner string) bool { return len(g.Caches.CSVs.OfOwner(owner)) > 0 },
		Secrets:   map[string]*corev1.Secret{},
		Issued:    map[string]*corev1.Secret{},
		Taken:     map[string]bool{},
		Foreign:   map[string]bool{},
		Uncached:  map[decide.ObjectKey]*unstructured.Unstructured{},
		Minted:    map[string]certs.Generation{},
		NotLifted: map[string]string{},
		Patched:   map[string]bool{},

		Definitions:     g.ruleDefinitions(csv),
		CertManager:     g.hasCertManager(),
		RotateAtPending: certs.RotateAtRequest(csv.Status.CertsRotateAt, csv.ManagedFields, g.Now()) != "",
		Observed: rollout.Observed{
			Deployments:  byName(g.Caches.Deployments.OfOwners(ids)),
			Services:     byName(g.Caches.Services.OfOwners(ids)),
			Slices:       byService(g.Caches.Slices.OfOwners(ids)),
			Pods:         map[string][]*corev1.Pod{},
			Roles:        byName(inNamespace(csv.Namespace, g.Caches.Roles.OfOwners(ids))),
			RoleBindings: byName(inNamespace(csv.Namespace, delegating(g.Caches.RoleBindings.OfOwners(ids), false))),
			Validating:   owners.Proven(ownership, g.Caches.Validating.OfOwners(ids)),
			Mutating:     owners.Proven(ownership, g.Caches.Mutating.OfOwners(ids)),
			APIServices:  owners.Proven(ownership, g.Caches.APIServices.OfOwners(ids)),
			CRDs:         g.Convertible(csv, ids),
			ObjectCounts: map[string]int{},
			Answers:      map[backends.Endpoint]backends.Answer{},
			Refused:      map[string]string{},
			Unanswered:   map[string]bool{},
			JustCreated:  map[string]bool{},
			Announced:    map[schema.GroupVersion]time.Time{},
			ServedKinds:  map[schema.GroupVersionKind]bool{},
			Undiscovered: map[schema.GroupVersion]bool{},
		},
	}
	_, s.BundlesWatched = g.Foreign.Known(informers.ConfigMaps)
	s.Status = s.RecordedStatus()
	s.Observed.CreationTimes = g.CreationTimes.Of(s.Observed.RegistrationUIDs())
	return s
}

// failure is why a ClusterServiceVersion cannot be installed where its OperatorGroup wants it;
// nil when it can.
func (g *Gatherer) failure(s *Snapshot) *scope.Failure {
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

// RecordedStatus is what the WebhookRollout says.
func (s *Snapshot) RecordedStatus() managerv1alpha1.WebhookRolloutStatus {
	if s.Rollout == nil {
		return managerv1alpha1.WebhookRolloutStatus{}
	}
	return s.Rollout.Status
}

// requirements are what a ClusterServiceVersion needs, as far as it is there.
func (g *Gatherer) requirements(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage, s *Snapshot) (requirements.Facts, error) {
	facts := requirements.Facts{
		CSV: csv, Targets: s.Scope.Namespaces,
		ServiceAccounts: g.accounts(csv), Access: g.access(csv, s.Scope.Namespaces, nil),
		CRDs: g.withRequired(csv, s.Observed.CRDs), Converters: g.otherConverters(informers.OwnerIDs(csv, relatives.Older), s.Observed.CRDs),
		Neighbours: g.Versions.Neighbours(csv, relatives), Began: g.Versions.ClaimantOf(csv).Began,
	}
	g.Versions.AddContenders(&facts, relatives)
	var err error
	if facts.ConvertedByOthers, err = g.foreignConversions(ctx, csv, relatives); err != nil {
		return facts, err
	}
	return facts, nil
}
