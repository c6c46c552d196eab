package apiserver

import (
	"context"
	"net/http"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/establish"
	"k8s.io/apiextensions-apiserver/pkg/controller/finalizer"
	"k8s.io/apiextensions-apiserver/pkg/controller/nonstructuralschema"
	"k8s.io/apiextensions-apiserver/pkg/controller/status"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/klog/v2"
)

// definitions serves custom resources: it is the handler of kube-apiserver, with its informer on this API server.
type definitions struct {
	server    *Server
	informers externalversions.SharedInformerFactory
	synced    func() bool
	lister    listers.CustomResourceDefinitionLister
	handler   http.Handler
	// controllers run until the context ends.
	controllers []func(context.Context)
}

// requestTimeout is kube-apiserver's.
const requestTimeout = time.Minute

func newDefinitions(s *Server) (*definitions, error) {
	config := s.Config(user.APIServerUser)
	config.UserAgent = "kube-apiserver/v1.36.3"
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	d := &definitions{server: s, informers: externalversions.NewSharedInformerFactory(client, 5*time.Minute)}
	informer := d.informers.Apiextensions().V1().CustomResourceDefinitions()
	d.lister, d.synced = informer.Lister(), informer.Informer().HasSynced
	v1 := client.ApiextensionsV1()
	establishing := establish.NewEstablishingController(informer, v1)
	dialed := webhookDialer{s}
	handler, err := crdapiserver.NewCustomResourceDefinitionHandler(nil, nil, informer, http.HandlerFunc(notFoundPage), custom{s}, plugins{},
		establishing, dialed, dialed.wrap, s.cluster.size, authority{}, requestTimeout, shortestWatch, handlers.metaModels, largestBody)
	if err != nil {
		return nil, err
	}
	d.handler = handler
	naming := status.NewNamingConditionController(klog.Background(), informer, v1)
	structural := nonstructuralschema.NewConditionController(informer, v1)
	finalizing := finalizer.NewCRDFinalizer(informer, v1, handler)
	d.controllers = []func(context.Context){
		naming.RunWithContext, establishing.RunWithContext,
		func(ctx context.Context) { structural.RunWithContext(1, ctx) },
		func(ctx context.Context) { finalizing.RunWithContext(1, ctx) },
	}
	return d, nil
}

// ServeHTTP implements http.Handler.
func (d *definitions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !d.synced() {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the request has been made before all known HTTP paths have been installed, please try again", http.StatusServiceUnavailable)
		return
	}
	d.handler.ServeHTTP(w, r)
}

func notFoundPage(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// run returns after the context of the server has ended.
func (d *definitions) run() {
	ctx := d.server.ctx
	d.informers.StartWithContext(ctx)
	var running sync.WaitGroup
	for _, run := range d.controllers {
		running.Go(func() { run(ctx) })
	}
	running.Wait()
	<-ctx.Done()
	d.informers.Shutdown()
}

// served returns the definitions that this API server observes and that are established.
func (d *definitions) served() []*apiextensionsv1.CustomResourceDefinition {
	all, _ := d.lister.List(everything) // an error is impossible: it is a cache
	var served []*apiextensionsv1.CustomResourceDefinition
	for _, definition := range all {
		if isEstablished(definition) {
			served = append(served, definition)
		}
	}
	return served
}
