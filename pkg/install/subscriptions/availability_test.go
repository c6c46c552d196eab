package subscriptions

import (
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func spreadOver(key string, action corev1.UnsatisfiableConstraintAction) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: action, MatchLabelKeys: []string{"pod-template-hash"}}
}

func withReplicas(n int32) func(*appsv1.DeploymentSpec) {
	return func(d *appsv1.DeploymentSpec) { d.Replicas = new(n) }
}

func withArgs(args ...string) func(*appsv1.DeploymentSpec) {
	return func(d *appsv1.DeploymentSpec) { d.Template.Spec.Containers[0].Args = args }
}

func TestAvailability(t *testing.T) {
	const source = "Subscription shop: spec.config.annotations, olm-webhook-manager.io/"
	const replicas, spread, class = "availability-replicas", "availability-spread", "availability-priority-class"
	notUnderstood := func(value string) string {
		return source + `leader-election is "` + value + `", which is neither "true" nor "false": correct it`
	}
	const noLeader = source + `availability-replicas does not apply to Deployment manager, because its operator is not known to elect a leader: if it does, set olm-webhook-manager.io/leader-election to "true"`
	for name, test := range map[string]struct {
		settings map[string]string
		author   map[string]string
		change   func(*appsv1.DeploymentSpec)
		unusable string
		keeps    string // the Deployment that keeps the class
		want     Availability
		refusals []string
	}{
		"nothing":                {},
		"a declaration alone":    {settings: map[string]string{"leader-election": "true"}},
		"declared by the config": {settings: map[string]string{replicas: "3", "leader-election": "true"}, want: Availability{Replicas: 3}},
		"declared by the author": {settings: map[string]string{replicas: "3"}, author: map[string]string{"leader-election": "true"}, want: Availability{Replicas: 3}},
		"the config wins over the author": {
			settings: map[string]string{replicas: "3", "leader-election": "false"}, author: map[string]string{"leader-election": "true"}, refusals: []string{noLeader},
		},
		"the author declares that there is none": {
			settings: map[string]string{replicas: "3"}, author: map[string]string{"leader-election": "false"}, change: withReplicas(2), refusals: []string{noLeader},
		},
		"replicas of the author": {settings: map[string]string{replicas: "3"}, change: withReplicas(2), want: Availability{Replicas: 3}},
		"declared with a capital letter": {
			settings: map[string]string{replicas: "3", "leader-election": "False"}, change: withArgs("--leader-elect"), refusals: []string{notUnderstood("False"), noLeader},
		},
		"declared with another word": {
			settings: map[string]string{replicas: "3", "leader-election": "no"}, change: withArgs("--leader-elect"), refusals: []string{notUnderstood("no"), noLeader},
		},
		"declared with a space": {
			settings: map[string]string{replicas: "3", "leader-election": "false "}, change: withReplicas(2), refusals: []string{notUnderstood("false "), noLeader},
		},
		"true, with a capital letter": {settings: map[string]string{replicas: "3", "leader-election": "True"}, refusals: []string{notUnderstood("True"), noLeader}},
		"misspelt": {
			settings: map[string]string{replicas: "3", "leader-elect": "false"}, change: withArgs("--leader-elect"),
			refusals: []string{source + "leader-elect is not known: correct it to olm-webhook-manager.io/leader-election", noLeader},
		},
		"misspelt, and declared": {
			settings: map[string]string{replicas: "3", "leader-elections": "false", "leader-election": "true"},
			refusals: []string{source + "leader-elections is not known: correct it to olm-webhook-manager.io/leader-election", noLeader},
		},
		"declared by the author with another word": {
			settings: map[string]string{replicas: "3"}, author: map[string]string{"leader-election": "no"}, change: withArgs("--leader-elect"), refusals: []string{noLeader},
		},
		"not understood, without replicas": {settings: map[string]string{replicas: "1", "leader-election": "no"}, want: Availability{Replicas: 1}, refusals: []string{notUnderstood("no")}},
		"a flag":                           {settings: map[string]string{replicas: "2"}, change: withArgs("--leader-elect"), want: Availability{Replicas: 2}},
		"a flag with a value":              {settings: map[string]string{replicas: "2"}, change: withArgs("-enable-leader-election=true"), want: Availability{Replicas: 2}},
		"a flag that is off":               {settings: map[string]string{replicas: "2"}, change: withArgs("--leader-elect=false"), refusals: []string{noLeader}},
		"the last flag counts":             {settings: map[string]string{replicas: "2"}, change: withArgs("--leader-elect", "--leader-elect=0"), refusals: []string{noLeader}},
		"a flag of another name":           {settings: map[string]string{replicas: "2"}, change: withArgs("--leader-elect-lease-duration=1s", "leader-elect"), refusals: []string{noLeader}},
		"one replica needs no election":    {settings: map[string]string{replicas: "1"}, want: Availability{Replicas: 1}},
		"annotations of the author alone":  {author: map[string]string{replicas: "3", "leader-election": "true"}},
		"no number": {settings: map[string]string{replicas: "two"}, refusals: []string{
			source + `availability-replicas is "two", which is no number of replicas: set one such as "2"`,
		}},
		"no replica": {settings: map[string]string{replicas: "0", spread: "a"}, want: Availability{Spread: []corev1.TopologySpreadConstraint{spreadOver("a", corev1.ScheduleAnyway)}}, refusals: []string{
			source + `availability-replicas is "0", which is no number of replicas: set one such as "2"`,
		}},
		"too large a number": {settings: map[string]string{replicas: "4294967298"}, refusals: []string{
			source + `availability-replicas is "4294967298", which is no number of replicas: set one such as "2"`,
		}},
		"keys": {settings: map[string]string{spread: "topology.kubernetes.io/zone, kubernetes.io/hostname=DoNotSchedule,"}, want: Availability{Spread: []corev1.TopologySpreadConstraint{
			spreadOver("topology.kubernetes.io/zone", corev1.ScheduleAnyway), spreadOver("kubernetes.io/hostname", corev1.DoNotSchedule),
		}}},
		"no keys": {settings: map[string]string{spread: " "}, refusals: []string{
			source + "availability-spread is empty: name topology keys, such as topology.kubernetes.io/zone, or remove it",
		}},
		"an unknown action": {settings: map[string]string{spread: "a, b=Never"}, refusals: []string{
			source + `availability-spread is ignored, because "b=Never" has neither DoNotSchedule nor ScheduleAnyway after the topology key: correct it`,
		}},
		"no key": {settings: map[string]string{spread: "=DoNotSchedule"}, refusals: []string{
			source + `availability-spread is ignored, because "=DoNotSchedule" has no topology key: correct it to the key of a label of nodes, such as topology.kubernetes.io/zone`,
		}},
		"a key twice": {settings: map[string]string{spread: "a,a=DoNotSchedule"}, refusals: []string{
			source + `availability-spread is ignored, because "a=DoNotSchedule" names a topology key twice: remove one of the entries`,
		}},
		"a class": {settings: map[string]string{class: "high"}, want: Availability{PriorityClass: "high"}},
		"a class that does not exist": {settings: map[string]string{class: "high"}, unusable: "PriorityClass high does not exist: create it", refusals: []string{
			source + "availability-priority-class is ignored: PriorityClass high does not exist: create it",
		}},
		"a class that must not be read": {settings: map[string]string{class: "high"}, unusable: "no permission", keeps: "other", refusals: []string{
			source + "availability-priority-class is ignored where pods do not have it: no permission",
		}},
		"a class that must not be read, of pods": {
			settings: map[string]string{class: "high"}, unusable: "no permission", keeps: "manager", want: Availability{PriorityClass: "high"},
			refusals: []string{source + "availability-priority-class is ignored where pods do not have it: no permission"},
		},
		"no name of a class": {settings: map[string]string{class: "High!"}, refusals: []string{
			source + `availability-priority-class is "High!", which is no name of a PriorityClass: correct it`,
		}},
		"a misspelt annotation": {settings: map[string]string{"availability-replica": "2", class: "high"}, want: Availability{PriorityClass: "high"}, refusals: []string{
			source + "availability-replica is not known: correct it to one of olm-webhook-manager.io/availability-replicas, " +
				"olm-webhook-manager.io/availability-spread, olm-webhook-manager.io/availability-priority-class, olm-webhook-manager.io/availability-disruption-budget",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			change := test.change
			if change == nil {
				change = func(*appsv1.DeploymentSpec) {}
			}
			csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager", change), installtest.DeploymentOf("other", withReplicas(2))), installtest.ServedBy("manager"))
			csv.Annotations = prefixed(test.author)
			config := Config{Subscription: "shop", UnusablePriorityClass: test.unusable, SubscriptionConfig: operatorsv1alpha1.SubscriptionConfig{Annotations: prefixed(test.settings)}}
			if test.keeps != "" {
				config.KeepsPriorityClass = map[string]bool{test.keeps: true}
			}
			specs := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
			installtest.Same(t, "what applies", test.want, config.Availability(csv, specs[0]))
			installtest.Same(t, "what applies to a Deployment without a webhook", Availability{}, config.Availability(csv, specs[1]))
			installtest.Same(t, "refusals", test.refusals, config.Refusals(csv))

			unsubscribed := csv.DeepCopy()
			if maps.Copy(unsubscribed.Annotations, config.Annotations); test.author[replicas] == "" {
				got := Config{UnusablePriorityClass: test.unusable, KeepsPriorityClass: config.KeepsPriorityClass}.Availability(unsubscribed, specs[0])
				installtest.Same(t, "what applies without a Subscription", test.want, got)
			}
		})
	}
}

func TestAvailabilityWithoutWebhooks(t *testing.T) {
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")))
	csv.Annotations = prefixed(map[string]string{"availability-priority-class": "high"})
	installtest.Same(t, "the class that is read", "", Config{}.PriorityClass(csv))
	installtest.Same(t, "refusals", []string{
		"ClusterServiceVersion shop.v1: metadata.annotations, olm-webhook-manager.io/availability-* have no effect, because no Deployment of ClusterServiceVersion shop.v1 serves a webhook: remove them",
	}, Config{}.availabilityRefusals(csv))
	csv.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{installtest.ServedBy("manager")}
	installtest.Same(t, "the class that is read for a webhook", "high", Config{}.PriorityClass(csv))
}

func prefixed(settings map[string]string) map[string]string {
	all := map[string]string{}
	for name, value := range settings {
		all["olm-webhook-manager.io/"+name] = value
	}
	return all
}
