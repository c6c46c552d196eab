package workload

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// deploymentWith returns a Deployment of two replicas with a complete rollout and a change.
func deploymentWith(change func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager", Generation: 2, CreationTimestamp: metav1.NewTime(noon)},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}},
		},
	}
	change(d)
	return d
}

func conditionSet(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, message string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Conditions = append(d.Status.Conditions[:0:0], appsv1.DeploymentCondition{Type: kind, Status: status, Message: message})
	}
}

func TestProgress(t *testing.T) {
	const notAvailable = `deployment "manager" not available: `
	for name, test := range map[string]struct {
		live          *appsv1.Deployment
		want          string // state, reason and message
		wantAvailable bool
	}{
		"absent":       {nil, "Progressing Creating: the Deployment is being created", false},
		"rolled out":   {deploymentWith(func(*appsv1.Deployment) {}), "Available : ", true},
		"not observed": {deploymentWith(func(d *appsv1.Deployment) { d.Generation = 3 }), "Progressing WaitingForReplicas: " + notAvailable + "the Deployment controller has not observed it yet", true},
		"unavailable":  {deploymentWith(conditionSet(appsv1.DeploymentAvailable, corev1.ConditionFalse, "Deployment does not have minimum availability.")), "Progressing WaitingForReplicas: " + notAvailable + "Deployment does not have minimum availability.", false},
		"half updated": {deploymentWith(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }),
			"Progressing WaitingForReplicas: " + notAvailable + "1 of 2 replicas are updated", true},
		"old replicas": {deploymentWith(func(d *appsv1.Deployment) { d.Status.Replicas = 3 }),
			"Progressing WaitingForReplicas: " + notAvailable + "1 old replicas are not gone yet", true},
		"half available": {deploymentWith(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }),
			"Progressing WaitingForReplicas: " + notAvailable + "1 of 2 updated replicas are available", true},
		"just created": {deploymentWith(func(d *appsv1.Deployment) {
			d.Status, d.Spec.Replicas = appsv1.DeploymentStatus{ObservedGeneration: 2}, nil
		}),
			"Progressing WaitingForReplicas: " + notAvailable + "0 of 1 replicas are updated", false},
		"scaled to zero": {deploymentWith(func(d *appsv1.Deployment) { d.Status, d.Spec.Replicas = appsv1.DeploymentStatus{}, new(int32(0)) }), "Available : ", true},
		"its pods are refused": {deploymentWith(func(d *appsv1.Deployment) {
			d.Status.UpdatedReplicas = 0
			conditionSet(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "exceeded quota: pods")(d)
		}), "Progressing ReplicaFailure: " + notAvailable + "0 of 2 replicas are updated: its pods cannot be created: exceeded quota: pods", false},
		"its pods were refused": {deploymentWith(func(d *appsv1.Deployment) {
			d.Status.UpdatedReplicas = 0
			conditionSet(appsv1.DeploymentReplicaFailure, corev1.ConditionFalse, "exceeded quota: pods")(d)
		}), "Progressing WaitingForReplicas: " + notAvailable + "0 of 2 replicas are updated", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := ProgressOf(test.live, nil)
			installtest.Same(t, "progress", test.want, string(p.State)+" "+p.Reason+": "+p.Message)
			installtest.Same(t, "available", test.wantAvailable, p.Available)
		})
	}
}

func TestLastProgress(t *testing.T) {
	at := func(kind appsv1.DeploymentConditionType, transition, update time.Duration) appsv1.DeploymentCondition {
		return appsv1.DeploymentCondition{Type: kind, LastTransitionTime: metav1.NewTime(noon.Add(transition)), LastUpdateTime: metav1.NewTime(noon.Add(update))}
	}
	for name, test := range map[string]struct {
		conditions       []appsv1.DeploymentCondition
		generation, seen int64
		want             time.Time
	}{
		"created":                        {nil, 1, 0, noon},
		"created, and observed":          {nil, 1, 1, noon},
		"available since":                {[]appsv1.DeploymentCondition{at(appsv1.DeploymentAvailable, time.Minute, time.Hour)}, 1, 1, noon.Add(time.Minute)},
		"progressing at":                 {[]appsv1.DeploymentCondition{at(appsv1.DeploymentProgressing, time.Second, 2*time.Minute)}, 1, 1, noon.Add(2 * time.Minute)},
		"the latest of both":             {[]appsv1.DeploymentCondition{at(appsv1.DeploymentProgressing, 0, time.Second), at(appsv1.DeploymentAvailable, time.Minute, 0)}, 1, 1, noon.Add(time.Minute)},
		"changed since":                  {[]appsv1.DeploymentCondition{at(appsv1.DeploymentAvailable, time.Minute, 0)}, 2, 1, time.Time{}},
		"changed before it was observed": {nil, 2, 0, noon},
	} {
		t.Run(name, func(t *testing.T) {
			d := deploymentWith(func(d *appsv1.Deployment) {
				d.Generation, d.Status.ObservedGeneration, d.Status.Conditions = test.generation, test.seen, test.conditions
			})
			installtest.Same(t, "since", test.want, ProgressOf(d, nil).Since)
		})
	}
}

// podWith returns a pod of the Deployment with containers in these states.
func podWith(name string, containers ...corev1.ContainerStatus) *corev1.Pod {
	for i := range containers {
		containers[i].Name = "manager"
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Status: corev1.PodStatus{ContainerStatuses: containers}}
}

func waitingFor(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func runningSince(d time.Duration, ready bool) corev1.ContainerStatus {
	return corev1.ContainerStatus{Ready: ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Add(d))}}}
}

func TestDiagnosis(t *testing.T) {
	const look = "; if it stays so, look at the pod's events: kubectl -n shop describe pod "
	crashing := waitingFor("CrashLoopBackOff", "back-off 5m0s")
	crashing.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error"}
	unschedulable := podWith("a")
	unschedulable.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes are available"}}
	initializing := podWith("a", waitingFor("PodInitializing", ""))
	initializing.Status.InitContainerStatuses = podWith("", crashing).Status.ContainerStatuses
	terminating := podWith("a", crashing)
	terminating.DeletionTimestamp = &metav1.Time{Time: noon}

	for name, test := range map[string]struct {
		pods []*corev1.Pod
		want diagnosis
	}{
		"no pods":           {nil, diagnosis{}},
		"a ready pod":       {[]*corev1.Pod{podWith("a", runningSince(0, true))}, diagnosis{}},
		"a terminating pod": {[]*corev1.Pod{terminating}, diagnosis{}},
		"unschedulable":     {[]*corev1.Pod{unschedulable}, diagnosis{"PodUnschedulable", "pod a cannot be scheduled: 0/1 nodes are available"}},
		"no image": {[]*corev1.Pod{podWith("a", waitingFor("ImagePullBackOff", `Back-off pulling image "x"`))},
			diagnosis{"ImagePullFailed", `pod a: container manager has no image: correct its name in the ClusterServiceVersion, or let the nodes pull it: Back-off pulling image "x"`}},
		"crashing": {[]*corev1.Pod{podWith("a", crashing)},
			diagnosis{"CrashLoopBackOff", "pod a: container manager ends with exit code 2 (Error) repeatedly; read its log: kubectl -n shop logs a -c manager --previous"}},
		"crashing, unknown cause": {[]*corev1.Pod{podWith("a", waitingFor("CrashLoopBackOff", "back-off 5m0s"))},
			diagnosis{"CrashLoopBackOff", "pod a: container manager waits: back-off 5m0s"}},
		"an init container crashes": {[]*corev1.Pod{initializing},
			diagnosis{"CrashLoopBackOff", "pod a: container manager ends with exit code 2 (Error) repeatedly; read its log: kubectl -n shop logs a -c manager --previous"}},
		"a missing ConfigMap": {[]*corev1.Pod{podWith("a", waitingFor("CreateContainerConfigError", `configmap "x" not found`))},
			diagnosis{"CreateContainerConfigError", `pod a: container manager waits: configmap "x" not found`}},
		"no words": {[]*corev1.Pod{podWith("a", waitingFor("Mystery", ""))}, diagnosis{"Mystery", "pod a: container manager waits: Mystery"}},
		"being created": {[]*corev1.Pod{podWith("a", waitingFor("ContainerCreating", ""))},
			diagnosis{"PodNotReady", "pod a: container manager is being created" + look + "a"}},
		"running, not ready": {[]*corev1.Pod{podWith("a", runningSince(0, false))},
			diagnosis{"PodNotReady", "pod a: container manager runs and its readiness probe fails" + look + "a"}},
		"the pod with the most specific cause": {[]*corev1.Pod{podWith("c", crashing), podWith("a", runningSince(0, false)), podWith("b", waitingFor("Mystery", "first by name"))},
			diagnosis{"Mystery", "pod b: container manager waits: first by name"}},
		"the first of pods that are not ready": {[]*corev1.Pod{podWith("b", runningSince(0, false)), podWith("a", runningSince(0, false))},
			diagnosis{"PodNotReady", "pod a: container manager runs and its readiness probe fails" + look + "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := diagnose(test.pods); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestDiagnosisIsPartOfTheMessage(t *testing.T) {
	unavailable := deploymentWith(conditionSet(appsv1.DeploymentAvailable, corev1.ConditionFalse, "Deployment does not have minimum availability."))
	p := ProgressOf(unavailable, []*corev1.Pod{podWith("a", waitingFor("Mystery", "of the sea"))})
	want := `deployment "manager" not available: Deployment does not have minimum availability: pod a: container manager waits: of the sea`
	installtest.Same(t, "the reason", "Mystery", p.Reason)
	installtest.Same(t, "the message", want, p.Message)
}

func TestRunningUnready(t *testing.T) {
	terminating := podWith("a", runningSince(0, false))
	terminating.DeletionTimestamp = &metav1.Time{Time: noon}
	since := noon.Add
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		want time.Time
	}{
		"no pods":                    {nil, time.Time{}},
		"no containers yet":          {[]*corev1.Pod{podWith("a")}, time.Time{}},
		"ready":                      {[]*corev1.Pod{podWith("a", runningSince(0, true))}, time.Time{}},
		"not ready":                  {[]*corev1.Pod{podWith("a", runningSince(time.Second, false))}, since(time.Second)},
		"one container is not ready": {[]*corev1.Pod{podWith("a", runningSince(time.Second, false), runningSince(time.Minute, true))}, since(time.Minute)},
		"one container does not run": {[]*corev1.Pod{podWith("a", runningSince(time.Second, false), waitingFor("CrashLoopBackOff", ""))}, time.Time{}},
		"the pod that waits longest": {[]*corev1.Pod{podWith("a", runningSince(time.Minute, false)), podWith("b", runningSince(time.Second, false))}, since(time.Second)},
		"a terminating pod":          {[]*corev1.Pod{terminating}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) { installtest.Same(t, "since", test.want, runningUnready(test.pods)) })
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
