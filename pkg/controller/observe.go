package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/claim"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// snapshot is all that a pass over one ClusterServiceVersion knows. It begins as
// what the caches show; the pass adds what it learns.
type snapshot struct {
	csv      *operatorsv1alpha1.ClusterServiceVersion
	scope    scope.Scope
	failure  *scope.Failure
	config   subscriptions.Config // of the Subscription
	facts    requirements.Facts
	verdict  requirements.Verdict
	observed rollout.Observed
	rollout  *managerv1alpha1.WebhookRollout
	upgrade  rollout.Upgrade

	services  map[string]string                    // names of the Services, by Deployment
	called    map[string]*corev1.Service           // as they are desired, by Deployment; none while they stay as they are
	secrets   map[string]*corev1.Secret            // by name
	minted    map[string]certs.Generation          // in this pass, by Secret
	taken     map[string]bool                      // names of Services that are not ours
	rehearsed map[string]bool                      // in this pass, by key of the object
	told      map[string]rollout.Verb              // in this pass, to issuers and operators, by key of the object
	foreign   map[string]bool                      // names of bindings that are not ours
	exists    func(owner string) bool              // whether there is that ClusterServiceVersion
	status    managerv1alpha1.WebhookRolloutStatus // what rollout says

	ownership owners.Ownership // what proves that an object belongs to the versions

	leaving    bool // on its way out, while objects need a conversion
	duePending bool // status.certsRotateAt is an order that is not followed yet

	unanswered error // the writes that are left out of this pass, since nobody answers a webhook
}

// observe reads the caches, and what the API server says of itself where a
// ClusterServiceVersion depends on that; nothing else.
func (c *Controller) observe(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) (*snapshot, error) {
	owners := informers.OwnerIDs(csv, relatives.Older)
	s := c.snapshotOf(csv, owners, c.ownership(append([]*operatorsv1alpha1.ClusterServiceVersion{csv}, relatives.Older...)...))
	s.observed.Writes, s.observed.Contests = c.repairs.Of(records.NameOf(csv), relatives.Older, c.now())
	c.observePods(s, owners)
	c.observeDelegations(s, owners)
	by := discovery.NewAsker(queue.CSVKey(csv.Namespace, csv.Name))
	c.observeKinds(s, by)
	s.observed.Reserved = c.reservedGroups(s)
	s.observed.Catalog = c.catalog(csv, by)
	s.scope, s.failure = c.scopeOf(csv.Namespace)
	s.upgrade = c.upgrade(csv, relatives, s.scope.Group)
	s.observed.Occupied = c.occupiedGroups(s, relatives)
	s.observed.Lifted = c.lifted(s)
	if s.failure == nil {
		s.observed.Uncovered, s.observed.Unlabelled = c.uncovered(s.scope), c.unlabelled.Of(scope.LabelOf(s.scope.Group))
		s.failure = c.unfit(s)
	}
	var err error
	if s.facts, err = c.facts(ctx, csv, relatives, s); err != nil {
		return nil, err
	}
	c.apis(&s.facts, by)
	s.verdict = requirements.Check(s.facts)
	return s, nil
}

// snapshotOf is what the caches show of a ClusterServiceVersion and of what it owns.
func (c *Controller) snapshotOf(csv *operatorsv1alpha1.ClusterServiceVersion, owners []string, ownership owners.Ownership) *snapshot {
	s := &snapshot{
		ownership: ownership,

		csv:     csv,
		config:  c.config(csv),
		rollout: c.caches.Rollouts.Get(csv.Namespace, csv.Name),
		secrets: map[string]*corev1.Secret{},
		minted:  map[string]certs.Generation{},
		taken:   map[string]bool{},
		told:    map[string]rollout.Verb{},

		rehearsed: map[string]bool{},
		foreign:   map[string]bool{},
		exists:    func(owner string) bool { return len(c.caches.CSVs.OfOwner(owner)) > 0 },

		duePending: certs.OrderedDue(csv.Status.CertsRotateAt, csv.ManagedFields, c.now()) != "",
		observed: rollout.Observed{
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
			Objects:      map[string]int{},
			Answers:      map[backends.Endpoint]backends.Answer{},
			Refused:      map[string]string{},
			Unanswered:   map[string]bool{},
			Made:         map[string]bool{},
			Announced:    map[schema.GroupVersion]time.Time{},
			Served:       map[schema.GroupVersionKind]bool{},
			Undiscovered: map[schema.GroupVersion]bool{},
		},
	}
	s.status = s.said()
	s.observed.Born = c.creationTimes.Of(s.observed.Registered())
	return s
}

// unfit is why a ClusterServiceVersion cannot be installed where its OperatorGroup wants it;
// nil when it can.
func (c *Controller) unfit(s *snapshot) *scope.Failure {
	if failure := s.scope.Supported(s.csv); failure != nil {
		return failure
	}
	own := c.claimant(s.csv)
	if failure := s.scope.Conflict(own, c.rivals(own, s.scope)); failure != nil {
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
func (c *Controller) facts(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage, s *snapshot) (requirements.Facts, error) {
	facts := requirements.Facts{
		CSV: csv, Targets: s.scope.Namespaces,
		ServiceAccounts: c.accounts(csv), Access: c.access(csv, s.scope.Namespaces, nil),
		CRDs: c.withRequired(csv, s.observed.CRDs), Converters: c.otherConverters(informers.OwnerIDs(csv, relatives.Older), s.observed.CRDs),
		Neighbours: c.neighbours(csv, relatives), Began: c.claimant(csv).Began,
	}
	c.contention(&facts, relatives)
	var err error
	if facts.ForeignConversions, err = c.foreignConversions(ctx, csv, relatives); err != nil {
		return facts, err
	}
	return facts, nil
}

// observePods gives each Deployment the pods that its selector matches.
func (c *Controller) observePods(s *snapshot, owners []string) {
	pods := c.caches.Pods.OfOwners(owners)
	for _, spec := range csvspec.Deployments(s.csv) {
		selector, err := metav1.LabelSelectorAsSelector(spec.Spec.Selector)
		if err != nil {
			continue // the API server refuses such a Deployment and says why
		}
		for _, pod := range pods {
			if selector.Matches(labels.Set(pod.Labels)) {
				s.observed.Pods[spec.Name] = append(s.observed.Pods[spec.Name], pod)
			}
		}
	}
}

// nameServices settles which Service each Deployment has, and which Secret it serves
// from. The Services of a version that is held stay as they are.
func (c *Controller) nameServices(s *snapshot, csv *operatorsv1alpha1.ClusterServiceVersion, held bool) {
	s.services, s.called = map[string]string{}, map[string]*corev1.Service{}
	for _, spec := range csvspec.Deployments(csv) {
		s.nameService(c, spec.Name)
		if !held {
			s.called[spec.Name] = render.CalledService(csv, spec.Name, s.services[spec.Name])
		}
	}
}

func (s *snapshot) nameService(c *Controller, deployment string) {
	name := s.serviceName(deployment)
	s.services[deployment] = name
	secret := names.Secret(name)
	if _, learned := s.secrets[secret]; !learned {
		if cached := c.caches.Secrets.Get(s.csv.Namespace, secret); cached != nil {
			s.secrets[secret] = cached
		}
	}
}

// serviceName is the Service of a Deployment: the one that there is under another name
// than the usual, if only of a replaced version, or else the usual.
func (s *snapshot) serviceName(deployment string) string {
	for _, csv := range append([]*operatorsv1alpha1.ClusterServiceVersion{s.csv}, s.upgrade.From...) {
		if s.observed.Services[csvspec.AlternateServiceName(csv, deployment)] != nil {
			return csvspec.ServiceName(csv, deployment, false, true)
		}
	}
	return csvspec.ServiceName(s.csv, deployment, s.taken[deployment], false)
}

// learn adds to the snapshot what the API server answered: an object that is there
// although the caches did not show it.
func (s *snapshot) learn(o drift.Object) {
	switch o := o.(type) {
	case *corev1.Secret:
		s.secrets[o.Name] = o
	case *corev1.Service:
		s.learnService(o)
	case *rbacv1.ClusterRoleBinding:
		s.learnBinding(o)
	case *rbacv1.RoleBinding:
		if permissions.Delegates(o) {
			s.learnBinding(o)
		} else {
			s.observed.Adopt(o, s.mayClaim(o))
		}
	default:
		s.observed.Adopt(o, s.mayClaim(o))
	}
}

// learnService leaves a Service that somebody else made alone. Its name is his, and
// the Deployment gets a Service of another name, unless that is somebody's too.
func (s *snapshot) learnService(o *corev1.Service) {
	refusal := s.mayClaim(o)
	for deployment, name := range s.services {
		if refusal != "" && name == o.Name && !s.taken[deployment] {
			s.taken[deployment] = true
			return
		}
	}
	s.observed.Adopt(o, refusal)
}

// mayClaim says why an object that bears the name of one of the
// ClusterServiceVersion's cannot be made it; empty when it can.
func (s *snapshot) mayClaim(o drift.Object) string { return s.claim().Refusal(o) }

func (s *snapshot) claim() claim.Claim {
	return claim.Claim{
		Versions: append([]*operatorsv1alpha1.ClusterServiceVersion{s.csv}, s.upgrade.From...),
		Exists:   s.exists,
		Calls:    func(service string) bool { return s.observed.Services[service] != nil },
		Proves:   func(o drift.Object) bool { return s.ownership.Proves(o) },
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

// instant is a time as a status holds it, in whole seconds; nil for none.
func instant(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewTime(t).Rfc3339Copy())
}
