package olm

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// registryAddress is where the node of test/cluster pulls from, without TLS.
const registryAddress = "172.30.0.1:5000"

// The catalog names the images of its bundles. catalog-operator unpacks each with a Job.
func TestBundlesFromARegistry(t *testing.T) {
	serveRegistry(t)
	e, o := newExample(t, "volumelabels")
	v1 := e.example(o.bundle).Release("0.1.0")
	v2 := v1.Release("0.2.0")
	v1.Image, v2.Image = e.push(v1), e.push(v2)
	e.serve(packageOf(catalog.Chain(stable, v1), v1))
	e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: stable})
	e.installs(v1.Package, v1.Name())
	load := o.load(e)

	e.publish(packageOf(catalog.Chain(stable, v1, v2), v1, v2))
	e.installs(v1.Package, v2.Name())
	e.isGone(v1.Name())
	load.GoesOn(o.answer)
	load.End(calls.Never)
	jobs := kube.List(e, kubeClient.BatchV1().Jobs(e.namespace), metav1.ListOptions{}).Items
	complete := 0
	for _, j := range jobs {
		complete += int(j.Status.Succeeded)
	}
	installtest.Same(t, "Jobs that unpacked a bundle", 2, complete)
}

// serveRegistry serves a registry until the test ends. The cluster of KUBECONFIG may not reach this machine.
func serveRegistry(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp4", registryAddress)
	if err != nil {
		t.Skipf("the cluster is not the one from test/cluster, whose node pulls from %s: %v", registryAddress, err)
	}
	server := httptest.NewUnstartedServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
}

// push stores the image of a bundle in the registry, and returns its name with its digest.
func (e *env) push(b catalog.Bundle) string {
	e.Helper()
	files, err := b.Files()
	e.must(err)
	image, err := mutate.AppendLayers(empty.Image, e.layer(files))
	e.must(err)
	digest, err := image.Digest()
	e.must(err)
	reference, err := name.NewDigest(registryAddress+"/"+b.Package+"@"+digest.String(), name.Insecure)
	e.must(err)
	e.must(remote.Write(reference, image, remote.WithTransport(http.DefaultTransport), remote.WithContext(e.ctx)))
	return reference.String()
}

// layer has files that every user may read.
func (e *env) layer(files map[string][]byte) v1.Layer {
	e.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for file, content := range files {
		e.must(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file, Mode: 0o644, Size: int64(len(content))}))
		_, err := w.Write(content)
		e.must(err)
	}
	e.must(w.Close())
	return static.NewLayer(archive.Bytes(), types.DockerUncompressedLayer)
}
