package campaign

import (
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/world"
)

// Scenario is what a run does.
type Scenario struct {
	// Seed decides what is random in the simulated cluster, and which requests fail.
	Seed uint64
	// Late is how late the watches of each API server are. The manager uses the last API server, and the controllers of the cluster the
	// first one. Calls fail if that one is late: endpoints are then listed for longer than they exist.
	Late []time.Duration
	// Reachable is set if the manager can ask each API server. Else it waits for the settle time.
	Reachable bool
	Delays    world.Delays
	Operators []Operator
	// FailOneIn is how many requests of the manager there are for one that fails; 0 is none.
	FailOneIn int
	// Failures are further requests of the manager that fail.
	Failures []Failure
	// Crashes are the numbers of writes after which a manager crashes, for one manager after the other.
	Crashes []int
	// Violates are the invariants that the run is expected to violate: the limits that are documented.
	Violates []string
}

// Operator is one operator, in a namespace of its own, and what is done with it.
type Operator struct {
	Replicas int
	// Mutating is set if it has a mutating webhook, too.
	Mutating bool
	// OwnNamespace is set if its OperatorGroup has its own namespace only, and not all.
	OwnNamespace bool
	// Labelled is set if another client has a webhook configuration with the labels of the operator's.
	Labelled bool
	// Occupied is set if another client has a Service with the name of the operator's for some time.
	Occupied bool
	Steps    []Step
}

// Step is one thing that is done with an operator.
type Step struct {
	// After is how long after the step before it.
	After  time.Duration
	Action Action
	// Await is set if the next step waits until the manager has completed this one.
	Await bool
}

// Action is what a step does.
type Action string

// The actions.
const (
	// Install creates the first ClusterServiceVersion. Without effect if there is one.
	Install Action = "install"
	// Rotate orders a rotation of the certificate.
	Rotate Action = "rotate"
	// Upgrade creates a ClusterServiceVersion that replaces the present one.
	Upgrade Action = "upgrade"
	// Uninstall deletes the ClusterServiceVersions.
	Uninstall Action = "uninstall"
	// Scale changes the replicas in the ClusterServiceVersion.
	Scale Action = "scale"
	// Restart deletes a pod, as a drain does.
	Restart Action = "restart"
	// Lose deletes the Secret with the certificate.
	Lose Action = "lose"
	// Tamper deletes the webhook configurations, as another client with the permission can.
	Tamper Action = "tamper"
	// Cut ends all watches at the API server of the manager.
	Cut Action = "cut"
)

// Failure is one request of the manager that fails: the one with a number among the requests for the same thing.
type Failure struct {
	Request string // verb, group, resource, namespace
	Number  int    // from 1 on
	Fault   apiserver.Fault
}
