package controller

import (
	"context"
	"net"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/tools/record"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// versions reads the caches for the versions of operators, and what they may have.
type versions struct {
	Namespaces []string
	caches     *informers.Caches
	claims     *claims
	queue      queue.Queue
	scopes     *records.Scopes
}

// gatherer reads the facts about a ClusterServiceVersion.
type gatherer struct {
	clients.Set
	Certificates  certs.Policy
	Rollout       rollout.Policy
	caches        *informers.Caches
	creationTimes *records.CreationTimes
	foreign       *informers.OnDemand
	now           func() time.Time
	repairs       *records.Repairs
	self          string
	served        discovery.APIServer
	unlabelled    *records.LabelRefusals
	versions      *versions
}

// eventHandlers adds the keys of the objects that a change affects to the queue.
type eventHandlers struct {
	caches   *informers.Caches
	queue    queue.Queue
	scopes   *records.Scopes
	served   discovery.APIServer
	writes   *informers.Expectations
	versions *versions
}

// writer writes to the API server, and reads what must not come from a cache.
type writer struct {
	clients.Set
	log *logrus.Entry
	now func() time.Time
}

// uninstaller unregisters webhooks, and removes what garbage collection does not.
type uninstaller struct {
	clients.Set
	LiftRoles  bool
	Namespaces []string
	events     record.EventRecorder
	log        *logrus.Entry
	writer     *writer
}

// prober asks endpoints which certificate they serve, directly or through the API server.
type prober struct {
	clients.Set
	Dial    func(ctx context.Context, address string) (net.Conn, error)
	Probe   ProbeMode
	log     *logrus.Entry
	metrics *metrics.Metrics
	now     func() time.Time
	writer  *writer
}

// groupReconciler reconciles OperatorGroups, and the labels of Namespaces.
type groupReconciler struct {
	clients.Set
	Namespaces []string
	caches     *informers.Caches
	contested  *records.FieldContests
	events     record.EventRecorder
	now        func() time.Time
	queue      queue.Queue
	unlabelled *records.LabelRefusals
	writes     *informers.Expectations
	handlers   *eventHandlers
	versions   *versions
}

// reporter writes status, events and metrics.
type reporter struct {
	clients.Set
	Rollout   rollout.Policy
	contested *records.FieldContests
	events    record.EventRecorder
	log       *logrus.Entry
	metrics   *metrics.Metrics
	now       func() time.Time
	queue     queue.Queue
	writes    *informers.Expectations
}

// executor carries out plans and answers their questions.
type executor struct {
	clients.Set
	Certificates  certs.Policy
	caches        *informers.Caches
	creationTimes *records.CreationTimes
	foreign       *informers.OnDemand
	log           *logrus.Entry
	metrics       *metrics.Metrics
	now           func() time.Time
	processors    processors
	repairs       *records.Repairs
	rotationSlots *records.RotationSlots
	writes        *informers.Expectations
	prober        *prober
	writer        *writer
}
