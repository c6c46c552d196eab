package olm

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

const (
	olmNamespace = "olm"
	catalogName  = "catalog" // of a CatalogSource, its Service and the label of its pods
	catalogPort  = 50051
	opmImage     = "docker.io/olm-webhook-manager/opm:dev"
)

var catalogSources = schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "catalogsources"}

// example reads a bundle of an example.
func (e *env) example(folder string) catalog.Bundle {
	e.Helper()
	b, err := catalog.Read("../../examples/" + folder)
	e.must(err)
	return b
}

// serve creates a CatalogSource of some packages in the Namespace of the test, and returns when catalog-operator is connected.
func (e *env) serve(packages ...catalog.Package) {
	e.Helper()
	service := kube.Create(e, kubeClient.CoreV1().Services(e.namespace), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: catalogName},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": catalogName}, Ports: []corev1.ServicePort{{Port: catalogPort}}},
	})
	e.publish(packages...)
	sources := dynamicClient.Resource(catalogSources).Namespace(e.namespace)
	_, err := sources.Create(e.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": catalogSources.GroupVersion().String(), "kind": "CatalogSource",
		"metadata": map[string]any{"name": catalogName},
		"spec":     map[string]any{"sourceType": "grpc", "address": fmt.Sprintf("%s:%d", service.Spec.ClusterIP, catalogPort)},
	}}, metav1.CreateOptions{})
	e.must(err)
	e.eventually("catalog-operator is connected to the catalog", func() (bool, any) {
		state := e.connection()
		return state == connected, state
	})
}

const connected = "READY"

// connection is the state of the connection between catalog-operator and the catalog.
func (e *env) connection() string {
	e.Helper()
	source, err := dynamicClient.Resource(catalogSources).Namespace(e.namespace).Get(e.ctx, catalogName, metav1.GetOptions{})
	e.must(err)
	state, _, err := unstructured.NestedString(source.Object, "status", "connectionState", "lastObservedState")
	e.must(err)
	return state
}

// publish replaces the content of the catalog: a pod with the next content takes the place of the present one.
func (e *env) publish(packages ...catalog.Package) {
	e.Helper()
	text, err := catalog.Text(packages...)
	e.must(err)
	e.packages = packages
	before := e.catalog
	e.publishText(text)
	name := catalogPodName(e.catalog)
	e.eventually("pod "+name+" is ready", func() (bool, any) {
		pod := kube.Get(e, kubeClient.CoreV1().Pods(e.namespace), name)
		return isReady(pod), pod.Status
	})
	e.removeCatalog(before)
}

// publishText creates a pod with some content of the catalog.
func (e *env) publishText(text []byte) {
	e.Helper()
	e.catalog++
	name := catalogPodName(e.catalog)
	kube.Create(e, kubeClient.CoreV1().ConfigMaps(e.namespace), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{catalogFile: string(text)},
	})
	kube.Create(e, kubeClient.CoreV1().Pods(e.namespace), catalogPod(name))
}

// removeCatalog deletes the pod with some content, if it exists.
func (e *env) removeCatalog(number int) {
	e.Helper()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	if err := kubeClient.CoreV1().Pods(e.namespace).Delete(e.ctx, catalogPodName(number), now); !apierrors.IsNotFound(err) {
		e.must(err)
	}
}

func catalogPodName(number int) string { return fmt.Sprintf("%s-%d", catalogName, number) }

const catalogFile = "catalog.json"

// catalogPod serves the catalog of the ConfigMap of the same name. A subPath, because opm reads each link of a
// volume as a file of its own.
func catalogPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": catalogName}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "opm", Image: opmImage, ImagePullPolicy: corev1.PullIfNotPresent,
				Args: []string{"serve", "/catalog", "--cache-dir=/cache", "--cache-enforce-integrity=false", fmt.Sprintf("--port=%d", catalogPort)},
				ReadinessProbe: &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: catalogPort}},
					PeriodSeconds: 1,
				},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "catalog", MountPath: "/catalog/" + catalogFile, SubPath: catalogFile},
					{Name: "cache", MountPath: "/cache"},
					{Name: "cache", MountPath: "/tmp"},
				},
			}},
			Volumes: []corev1.Volume{
				{Name: "catalog", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}},
				{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
