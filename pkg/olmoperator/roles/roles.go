// Package roles writes the ClusterRoles of OperatorGroups and of provided APIs, by which the users of a namespace may use
// the objects of operators (docs/adr/0060-roles-of-groups-and-apis.md).
package roles

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/loop"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/problems"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/provided"
)

// Controller has a queue for each kind of objects that ClusterRoles depend on.
type Controller struct {
	kube     kubernetes.Interface
	caches   *informers.Caches
	apis     provided.APIs
	contests *records.FieldContests
	now      func() time.Time

	groups   *loop.Loop // OperatorGroups
	versions *loop.Loop // ClusterServiceVersions

	groupProblems   problems.Reporter
	versionProblems problems.Reporter
	taken           taken
}

// New connects the caches with the queues.
func New(kube kubernetes.Interface, caches *informers.Caches, events record.EventRecorder, log *logrus.Entry) *Controller {
	c := &Controller{
		kube: kube, caches: caches, apis: provided.APIs{Caches: caches}, contests: &records.FieldContests{}, now: time.Now,
		groupProblems:   problems.Reporter{Events: events, Reason: managerv1alpha1.EventClusterRoleNotWritten},
		versionProblems: problems.Reporter{Events: events, Reason: managerv1alpha1.EventClusterRoleNotWritten},
	}
	c.groups = loop.New(c.reconcileGroup, log)
	c.versions = loop.New(c.reconcileVersion, log)
	c.register()
	return c
}

// Fill does nothing: the controller has no caches of its own.
func (c *Controller) Fill(context.Context) error { return nil }

// Run reconciles until the context ends.
func (c *Controller) Run(ctx context.Context) {
	var running wait.Group
	for _, l := range []*loop.Loop{c.groups, c.versions} {
		running.StartWithContext(ctx, func(ctx context.Context) { l.Run(ctx, workers) })
	}
	running.Wait()
}

const workers = 2

// taken records who waits for the name of a ClusterRole that belongs to another owner.
type taken struct {
	mutex sync.Mutex
	by    map[string][]waiting
}

type waiting struct {
	loop   *loop.Loop
	object cache.ObjectName
}

func (t *taken) wait(role string, by waiting) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.by == nil {
		t.by = map[string][]waiting{}
	}
	if !slices.Contains(t.by[role], by) {
		t.by[role] = append(t.by[role], by)
	}
}

// wake enqueues who waits for a name.
func (t *taken) wake(role string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, by := range t.by[role] {
		by.loop.Add(by.object)
	}
	delete(t.by, role)
}
