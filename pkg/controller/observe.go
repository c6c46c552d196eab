package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// snapshot is what a reconciliation of a ClusterServiceVersion works with: the facts of the current
// round, and what it has done.
type snapshot struct {
	decide.Facts

	facts   requirements.Facts // what the verdict depends on
	rollout *managerv1alpha1.WebhookRollout

	rehearsed  map[string]bool         // dry runs, by key of the object
	written    map[string]rollout.Verb // steps for issuers and operators, by key of the object
	unanswered error                   // the writes that were left out, because a webhook does not answer
}

// observe reads the caches, and what the API server says of itself where a
// ClusterServiceVersion depends on that; nothing else.
func (c *gatherer) observe(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) (*snapshot, error) {
	owners := informers.OwnerIDs(csv, relatives.Older)
	s := c.snapshotOf(csv, owners, c.versions.ownership(append([]*operatorsv1alpha1.ClusterServiceVersion{csv}, relatives.Older...)...))
	s.Observed.Writes, s.Observed.Contests = c.repairs.Of(records.NameOf(csv), relatives.Older, c.now())
	c.observePods(s, owners)
	c.observeDelegations(s, owners)
	c.observeCondition(s)
	by := discovery.NewAsker(queue.CSVKey(csv.Namespace, csv.Name))
	c.observeKinds(s, by)
	s.Observed.ReservedGroups = c.reservedGroups(s)
	s.Observed.Catalog = c.catalog(csv, by)
	s.Scope, s.Failure = c.versions.scopeOf(csv.Namespace)
	s.Upgrade = c.versions.upgrade(csv, relatives, s.Scope.Group)
	s.Observed.OccupiedGroups = c.occupiedGroups(s, relatives)
	c.observeSecrets(s)
	s.Observed.Lifted = c.lifted(s)
	if s.Failure == nil {
		s.Observed.UnlabelledNamespaces, s.Observed.LabelRefusals = c.versions.uncovered(s.Scope), c.unlabelled.Of(scope.LabelOf(s.Scope.Group))
		s.Failure = c.unfit(s)
	}
	var err error
	if s.facts, err = c.facts(ctx, csv, relatives, s); err != nil {
		return nil, err
	}
	c.apis(&s.facts, by)
	s.Verdict = requirements.Check(s.facts)
	return s, nil
}

// snapshotOf is what the caches show of a ClusterServiceVersion and of what it owns.
func (c *gatherer) snapshotOf(csv *operatorsv1alpha1.ClusterServiceVersion, owners []string, ownership owners.Ownership) *snapshot {
	s := &snapshot{
		rollout:   c.caches.Rollouts.Get(csv.Namespace, csv.Name),
		rehearsed: map[string]bool{},
		written:   map[string]rollout.Verb{},
	}
	s.Facts = decide.Facts{
		Settings:  decide.Settings{Rollout: c.Rollout, Certificates: c.Certificates, Manager: c.self},
		CSV:       csv,
		Config:    c.versions.config(csv),
		Ownership: ownership,
		Exists:    func(owner string) bool { return len(c.caches.CSVs.OfOwner(owner)) > 0 },
		Secrets:   map[string]*corev1.Secret{},
		Issued:    map[string]*corev1.Secret{},
		Taken:     map[string]bool{},
		Foreign:   map[string]bool{},
		Minted:    map[string]certs.Generation{},

		Definitions: c.definitions(csv),
		CertManager: c.hasCertManager(),
		DuePending:  certs.RotateAtRequest(csv.Status.CertsRotateAt, csv.ManagedFields, c.now()) != "",
		Observed: rollout.Observed{
			Deployments:  byName(c.caches.Deployments.OfOwners(owners)),
			Services:     byName(c.caches.Services.OfOwners(owners)),
			Slices:       byService(c.caches.Slices.OfOwners(owners)),
			Pods:         map[string][]*corev1.Pod{},
			Roles:        byName(atHome(csv.Namespace, c.caches.Roles.OfOwners(owners))),
			RoleBindings: byName(atHome(csv.Namespace, delegating(c.caches.RoleBindings.OfOwners(owners), false))),
			Validating:   proven(ownership, c.caches.Validating.OfOwners(owners)),
			Mutating:     proven(ownership, c.caches.Mutating.OfOwners(owners)),
			APIServices:  proven(ownership, c.caches.APIServices.OfOwners(owners)),
			CRDs:         c.convertible(csv, owners),
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
	_, s.BundlesWatched = c.foreign.Known(informers.ConfigMaps)
	s.Status = s.said()
	s.Observed.CreationTimes = c.creationTimes.Of(s.Observed.RegistrationUIDs())
	return s
}

// unfit is why a ClusterServiceVersion cannot be installed where its OperatorGroup wants it;
// nil when it can.
func (c *gatherer) unfit(s *snapshot) *scope.Failure {
	if failure := s.Scope.Supported(s.CSV); failure != nil {
		return failure
	}
	own := c.versions.claimant(s.CSV)
	if failure := s.Scope.Conflict(own, c.versions.rivals(own, s.Scope)); failure != nil {
		return failure
	}
	if failure := c.reservedAPI(s); failure != nil {
		return failure
	}
	return c.occupiedAPI(s)
}

// said is what the WebhookRollout says.
func (s *snapshot) said() managerv1alpha1.WebhookRolloutStatus {
	if s.rollout == nil {
		return managerv1alpha1.WebhookRolloutStatus{}
	}
	return s.rollout.Status
}

// facts are what a ClusterServiceVersion needs, as far as it is there.
func (c *gatherer) facts(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage, s *snapshot) (requirements.Facts, error) {
	facts := requirements.Facts{
		CSV: csv, Targets: s.Scope.Namespaces,
		ServiceAccounts: c.accounts(csv), Access: c.access(csv, s.Scope.Namespaces, nil),
		CRDs: c.withRequired(csv, s.Observed.CRDs), Converters: c.otherConverters(informers.OwnerIDs(csv, relatives.Older), s.Observed.CRDs),
		Neighbours: c.versions.neighbours(csv, relatives), Began: c.versions.claimant(csv).Began,
	}
	c.versions.contention(&facts, relatives)
	var err error
	if facts.ConvertedByOthers, err = c.foreignConversions(ctx, csv, relatives); err != nil {
		return facts, err
	}
	return facts, nil
}

// observePods gives each Deployment the pods that its selector matches.
func (c *gatherer) observePods(s *snapshot, owners []string) {
	pods := c.caches.Pods.OfOwners(owners)
	for _, spec := range csvspec.Deployments(s.CSV) {
		selector, err := metav1.LabelSelectorAsSelector(spec.Spec.Selector)
		if err != nil {
			continue // the API server refuses such a Deployment and says why
		}
		for _, pod := range pods {
			if selector.Matches(labels.Set(pod.Labels)) {
				s.Observed.Pods[spec.Name] = append(s.Observed.Pods[spec.Name], pod)
			}
		}
	}
}

func byName[T drift.Object](objects []T) map[string]T {
	named := make(map[string]T, len(objects))
	for _, o := range objects {
		named[o.GetName()] = o
	}
	return named
}

func byService(all []*discoveryv1.EndpointSlice) map[string][]*discoveryv1.EndpointSlice {
	grouped := map[string][]*discoveryv1.EndpointSlice{}
	for _, slice := range all {
		service := slice.Labels[discoveryv1.LabelServiceName]
		grouped[service] = append(grouped[service], slice)
	}
	return grouped
}

// observeSecrets adds the Secrets of each Deployment, by all names that its Service may have.
func (c *gatherer) observeSecrets(s *snapshot) {
	deployments := map[string]bool{}
	for name := range s.Observed.Deployments {
		deployments[name] = true
	}
	for _, version := range s.Versions() {
		for _, spec := range csvspec.Deployments(version) {
			deployments[spec.Name] = true
		}
	}
	for deployment := range deployments {
		services := []string{names.Service(deployment)}
		for _, version := range s.Versions() {
			services = append(services, csvspec.AlternateServiceName(version, deployment))
		}
		for _, service := range services {
			addSecret(s.Secrets, c.caches.Secrets.Get(s.CSV.Namespace, names.Secret(service)))
			addSecret(s.Issued, c.caches.Secrets.Get(s.CSV.Namespace, names.Issued(names.CA(service))))
			addSecret(s.Issued, c.caches.Secrets.Get(s.CSV.Namespace, names.Issued(names.Secret(service))))
		}
	}
}

func addSecret(secrets map[string]*corev1.Secret, cached *corev1.Secret) {
	if cached != nil {
		secrets[cached.Name] = cached
	}
}

// observeCondition adds the OperatorCondition.
func (c *gatherer) observeCondition(s *snapshot) {
	s.Condition.Supported = c.hasOperatorConditions()
	if s.Condition.Supported {
		cached, filled := c.foreign.Of(operatorConditions)
		s.Condition.Cached, s.Condition.Live = filled, cached.Get(s.CSV.Namespace, s.CSV.Name)
	}
}
