package render

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestDeploymentMetadata(t *testing.T) {
	spec := installtest.DeploymentOf("manager", func(d *appsv1.DeploymentSpec) { d.Replicas = new(int32(2)) })
	spec.Label = map[string]string{"team": "shop", "olm.owner": "somebody-else"}
	d := rendered(t, inputOf(installtest.Operator(installtest.Deployments(spec)))).Object

	delete(d.Labels, "olm.deployment-spec-hash") // TestDeploymentHash
	installtest.Same(t, "labels", map[string]string{
		"team": "shop", "olm.managed": "true", "olm.owner": "shop.v1", "olm.owner.namespace": "shop", "olm.owner.kind": "ClusterServiceVersion",
	}, d.Labels)
	installtest.Same(t, "annotations", map[string]string{"olm-webhook-manager.io/replicas": "2"}, d.Annotations)
	installtest.Same(t, "uids of the owners", []types.UID{"uid-of-shop"}, lists.Map(d.OwnerReferences, func(r metav1.OwnerReference) types.UID { return r.UID }))
}

func TestPodMetadata(t *testing.T) {
	spec := installtest.DeploymentOf("manager", func(d *appsv1.DeploymentSpec) {
		d.Template.Annotations = map[string]string{"author": "pod", "shared": "pod"}
	})
	csv := installtest.Operator(installtest.Deployments(spec), installtest.ServedBy("manager"))
	csv.Annotations = map[string]string{
		"capabilities": "Deep Insights", "shared": "csv",
		"olm.targetNamespaces":                             "stale",
		"olm-webhook-manager.io/anything":                  "an instruction",
		"kubectl.kubernetes.io/last-applied-configuration": "{}",
	}
	pods := rendered(t, inputOf(csv, installtest.Targeting("blue", "red"))).Object.Spec.Template

	installtest.Same(t, "annotations", map[string]string{
		"author": "pod", "shared": "csv", "capabilities": "Deep Insights",
		"olm.operatorGroup": "group", "olm.operatorNamespace": "shop", "olm.targetNamespaces": "blue,red",
		"olmcahash": "hash-of-ca",
	}, pods.Annotations)
	installtest.Same(t, "labels", map[string]string{"app": "manager", "olm-webhook-manager.io/csv": "shop.v1"}, pods.Labels)
}

func TestContainersKnowTheirOperatorCondition(t *testing.T) {
	spec := installtest.DeploymentOf("manager", func(d *appsv1.DeploymentSpec) {
		d.Template.Spec.InitContainers = []corev1.Container{{Name: "init"}}
		d.Template.Spec.Containers = []corev1.Container{
			{Name: "none", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}},
			{Name: "stale", Env: []corev1.EnvVar{{Name: "OPERATOR_CONDITION_NAME", Value: "shop.v0"}, {Name: "A", Value: "1"}}},
		}
	})
	pod := rendered(t, inputOf(installtest.Operator(installtest.Deployments(spec)))).Object.Spec.Template.Spec

	condition := corev1.EnvVar{Name: "OPERATOR_CONDITION_NAME", Value: "shop.v1"}
	got := [][]corev1.EnvVar{pod.InitContainers[0].Env, pod.Containers[0].Env, pod.Containers[1].Env}
	want := [][]corev1.EnvVar{nil, {{Name: "A", Value: "1"}, condition}, {condition, {Name: "A", Value: "1"}}}
	installtest.Same(t, "env of init container and containers", want, got)
}

func TestOneOldReplicaSetIsKept(t *testing.T) {
	for name, author := range map[string]*int32{"none named": nil, "ten": new(int32(10)), "none": new(int32(0))} {
		t.Run(name, func(t *testing.T) {
			spec := installtest.DeploymentOf("manager", func(d *appsv1.DeploymentSpec) { d.RevisionHistoryLimit = author })
			limit := rendered(t, inputOf(installtest.Operator(installtest.Deployments(spec)))).Object.Spec.RevisionHistoryLimit
			installtest.Same(t, "revisionHistoryLimit", new(int32(1)), limit)
		})
	}
}

// The label changes if and only if the Deployment's spec does.
func TestDeploymentHash(t *testing.T) {
	hash := func(change func(*Input)) string {
		in := inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager")))
		change(&in)
		return rendered(t, in).Object.Labels["olm.deployment-spec-hash"]
	}
	specOf := func(in *Input) *appsv1.DeploymentSpec {
		return &in.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec
	}
	same := hash(func(*Input) {})
	for name, test := range map[string]struct {
		change func(*Input)
		stays  bool
	}{
		"nothing": {func(*Input) {}, true},
		"a label of the Deployment": {func(in *Input) {
			in.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Label = map[string]string{"a": "b"}
		}, true},
		"the uid of the owner":  {func(in *Input) { in.CSV.UID = "another" }, true},
		"a rule of the webhook": {func(in *Input) { in.CSV.Spec.WebhookDefinitions[0].Rules[0].Resources = []string{"pods"} }, true},
		"the bundle, not the CA": {func(in *Input) {
			in.Trust["manager"] = Trust{CABundle: []byte("more"), CAHash: "hash-of-ca", Generation: 4}
		}, true},
		"an instruction to the manager": {func(in *Input) { in.CSV.Annotations = map[string]string{"olm-webhook-manager.io/x": "y"} }, true},
		"the image":                     {func(in *Input) { specOf(in).Template.Spec.Containers[0].Image = "shop:2" }, false},
		"the replicas":                  {func(in *Input) { specOf(in).Replicas = new(int32(2)) }, false},
		"the scope":                     {func(in *Input) { in.Scope.Namespaces = []string{"red"} }, false},
		"the CA":                        {func(in *Input) { in.Trust["manager"] = Trust{CAHash: "another"} }, false},
		"an annotation of the operator": {func(in *Input) { in.CSV.Annotations = map[string]string{"capabilities": "Deep Insights"} }, false},
	} {
		t.Run(name, func(t *testing.T) { installtest.Same(t, "the hash stays", test.stays, hash(test.change) == same) })
	}
}

// API server defaults inside a list that is compared as a whole are written out: they would differ for ever.
func TestListDefaultsAreWrittenOut(t *testing.T) {
	field := func(version string) *corev1.ObjectFieldSelector {
		return &corev1.ObjectFieldSelector{APIVersion: version, FieldPath: "metadata.name"}
	}
	pod := func(protocol corev1.Protocol, version string, expiration *int64, optional *bool) corev1.PodSpec {
		variables := []corev1.EnvVar{
			{Name: "A", ValueFrom: &corev1.EnvVarSource{FieldRef: field(version)}},
			{Name: "B", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{VolumeName: "v", Path: "p", Key: "k", Optional: optional}}},
			{Name: "C", Value: "c"},
		}
		ports := []corev1.ContainerPort{{ContainerPort: 80, Protocol: protocol}, {ContainerPort: 53, Protocol: corev1.ProtocolUDP}}
		files := []corev1.DownwardAPIVolumeFile{{Path: "name", FieldRef: field(version)}, {Path: "cpu", ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}}
		return corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init", Ports: ports, Env: variables}},
			Containers:     []corev1.Container{{Name: "manager", Ports: ports, Env: variables}},
			Volumes: []corev1.Volume{
				{Name: "downward", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: files}}},
				{Name: "projected", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: expiration}},
					{DownwardAPI: &corev1.DownwardAPIProjection{Items: files}},
					{Secret: &corev1.SecretProjection{}},
				}}}},
				{Name: "empty"},
			},
		}
	}
	for name, test := range map[string]struct{ author, want corev1.PodSpec }{
		"left open":   {pod("", "", nil, nil), pod("TCP", "v1", new(int64(3600)), new(false))},
		"written out": {pod("SCTP", "v2", new(int64(600)), new(true)), pod("SCTP", "v2", new(int64(600)), new(true))},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.author.DeepCopy()
			WriteOutListDefaults(got)
			installtest.Same(t, "pod", &test.want, got)
		})
	}
}
