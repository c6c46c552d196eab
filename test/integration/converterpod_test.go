package integration

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// converterPod is a pod that converts. Each version has a field of its own for the same value, so that an object that is
// only relabelled has lost it.
type converterPod struct {
	*playedPod
	supports []string // guarded by the mutex of the pod
}

func playConverter(e *env, versions ...string) *converterPod {
	e.Helper()
	c := &converterPod{playedPod: playPod(e), supports: versions}
	c.handler = c.convert
	return c
}

// upgrade is a rollout of pods that support other versions.
func (c *converterPod) upgrade(versions ...string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.supports = versions
}

func (c *converterPod) converts(version string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Contains(c.supports, version)
}

// csv owns the versions of a definition and converts it.
func (c *converterPod) csv(name, image, crd string, versions ...string) *operatorsv1alpha1.ClusterServiceVersion {
	csv := converting(name, crd)
	csv.Spec.WebhookDefinitions[0].TargetPort = new(intstr.FromInt(c.port()))
	csv.Spec.CustomResourceDefinitions.Owned = nil
	for _, v := range versions {
		csv.Spec.CustomResourceDefinitions.Owned = append(csv.Spec.CustomResourceDefinitions.Owned, operatorsv1alpha1.CRDDescription{Name: crd, Version: v, Kind: "Thing"})
	}
	container(csv).Image = image
	return csv
}

// replaces is the rollout of a version: the pod of the previous one is deleted. Both listen at the same address.
func (c *converterPod) replaces(csv string) {
	c.Helper()
	pods := c.kube.CoreV1().Pods(c.namespace)
	c.must(pods.Delete(c.ctx, "server-0", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	next := ownPod(c.env, "server-1")
	next.GenerateName, next.Name = "", "server-1"
	next.Labels = map[string]string{"app": "server", wellknown.LabelCSV: csv}
	c.runs(kube.Create(c, pods, next))
}

// mounts reloads the Secret a while after each change, as a pod does with a mounted one.
func (c *converterPod) mounts() {
	client := c.kube.CoreV1().Secrets(c.namespace)
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-c.ctx.Done():
				return
			case <-tick.C:
			}
			secret, err := client.Get(c.ctx, servingSecret, metav1.GetOptions{})
			if err != nil {
				continue
			}
			if pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]); err == nil {
				c.mutex.Lock()
				c.loaded = pair
				c.mutex.Unlock()
			}
		}
	}()
}

// begins waits for the certificate, and then serves.
func (c *converterPod) begins() {
	c.Helper()
	awaitObject(c.env, c.kube.CoreV1().Services(c.namespace), "server-service")
	awaitObject(c.env, c.kube.CoreV1().Secrets(c.namespace), servingSecret)
	c.start()
	endpoint(c.env, c.listener)
}

func fieldOf(version string) string { return "value" + strings.ToUpper(version) }

func (c *converterPod) convert(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/convert" {
		permitAtValidate(w, r)
		return
	}
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		converted, err := c.convertOne(raw.Raw, review.Request.DesiredAPIVersion)
		if err != nil {
			review.Response.ConvertedObjects, review.Response.Result = nil, metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			break
		}
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: converted})
	}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // the API server reports a connection that ends
}

func (c *converterPod) convertOne(raw []byte, desired string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &object.Object); err != nil {
		return nil, err
	}
	from, to := object.GroupVersionKind().Version, schema.FromAPIVersionAndKind(desired, "Thing").Version
	for _, version := range []string{from, to} {
		if !c.converts(version) {
			return nil, fmt.Errorf("this converter does not know %s", version)
		}
	}
	value, _, err := unstructured.NestedString(object.Object, "spec", fieldOf(from))
	if err != nil {
		return nil, err
	}
	object.SetAPIVersion(desired)
	object.Object["spec"] = map[string]any{fieldOf(to): value}
	return object, nil
}

// valued is a definition whose versions have the value in different fields, stored in the last one.
func valued(e *env, plural string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	crd := things(e, plural, versions...)
	for i, v := range versions {
		crd.Spec.Versions[i].Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{fieldOf(v): {Type: "string"}},
			}},
		}}
	}
	return crd
}

// newValued creates a definition that is deleted, with its objects, when the test ends.
func newValued(e *env, plural string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	e.Helper()
	return temporaryDefinition(e, extensions(e), valued(e, plural, versions...))
}

// temporaryDefinition is deleted, with its objects, when the test ends.
func temporaryDefinition(e *env, by apiextensions.Interface, manifest *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	e.Helper()
	created := kube.Create(e, by.ApiextensionsV1().CustomResourceDefinitions(), manifest)
	client := extensions(e).ApiextensionsV1().CustomResourceDefinitions()
	e.Cleanup(func() {
		ctx := context.WithoutCancel(e.ctx)
		none := []byte(`{"spec": {"conversion": {"strategy": "None", "webhook": null}}}`) // No pod serves any more.
		_, err := client.Patch(ctx, created.Name, types.MergePatchType, none, metav1.PatchOptions{FieldManager: wellknown.FieldManager})
		e.must(err)
		e.must(client.Delete(ctx, created.Name, metav1.DeleteOptions{}))
		e.must(kube.AwaitRemoval(ctx, e.any.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")), created.Name))
	})
	e.must(kube.WaitUntilServed(e.ctx, extensions(e), created.Name))
	return created
}

func inVersion(e *env, crd *apiextensionsv1.CustomResourceDefinition, version string) dynamic.ResourceInterface {
	return e.any.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural}).Namespace(e.namespace)
}

func newValue(e *env, crd *apiextensionsv1.CustomResourceDefinition, version, value string) {
	e.Helper()
	_, err := inVersion(e, crd, version).Create(e.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": crd.Spec.Group + "/" + version, "kind": "Thing", "metadata": map[string]any{"name": "one"}, "spec": map[string]any{fieldOf(version): value},
	}}, metav1.CreateOptions{})
	e.must(err)
}

// readers read an object in some versions, each version 100 times a second.
type readers struct {
	*env
	crd    *apiextensionsv1.CustomResourceDefinition
	value  string
	during context.Context
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mutex  sync.Mutex
	reads  map[string]int
	failed []string
}

func startReaders(e *env, crd *apiextensionsv1.CustomResourceDefinition, value string, versions ...string) *readers {
	e.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	r := &readers{env: e, crd: crd, value: value, during: ctx, cancel: cancel, reads: map[string]int{}}
	r.also(versions...)
	e.Cleanup(cancel)
	return r
}

// also reads other versions as well.
func (r *readers) also(versions ...string) {
	for _, version := range versions {
		r.ended.Go(func() { r.read(r.during, version) })
	}
}

// read begins a read at each tick: a read that takes long does not delay the next one.
func (r *readers) read(ctx context.Context, version string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.ended.Go(func() {
				object, err := inVersion(r.env, r.crd, version).Get(ctx, "one", metav1.GetOptions{})
				if ctx.Err() == nil {
					r.note(version, object, err)
				}
			})
		}
	}
}

func (r *readers) note(version string, object *unstructured.Unstructured, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.reads[version]++
	if err != nil {
		r.failed = append(r.failed, version+": "+err.Error())
		return
	}
	if read, _, _ := unstructured.NestedString(object.Object, "spec", fieldOf(version)); read != r.value {
		r.failed = append(r.failed, fmt.Sprintf("%s: relabelled: %v", version, object.Object["spec"]))
	}
}

// goOn waits until each version has been read some more times.
func (r *readers) goOn(versions ...string) {
	r.Helper()
	count := func() (all []int) {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		for _, v := range versions {
			all = append(all, r.reads[v])
		}
		return all
	}
	before := count()
	r.eventually("the object is read", func() (bool, any) {
		now := count()
		for i := range now {
			if now[i] < before[i]+20 {
				return false, now
			}
		}
		return true, now
	})
}

// end fails the test if a read has failed, or has returned an object that was only relabelled.
func (r *readers) end() {
	r.Helper()
	r.cancel()
	r.ended.Wait()
	r.Logf("reads: %v, failed: %d", r.reads, len(r.failed))
	if len(r.failed) > 0 {
		r.Errorf("%d reads failed, the first ones: %q", len(r.failed), r.failed[:min(3, len(r.failed))])
	}
}
