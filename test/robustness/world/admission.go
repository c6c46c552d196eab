package world

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// watchRegistrations reports the registrations that the admission plugins of an API server use.
func (w *World) watchRegistrations(server *apiserver.Server) error {
	admission := server.Informers().Admissionregistration().V1()
	for kind, informer := range map[string]cache.SharedIndexInformer{
		"ValidatingWebhookConfiguration": admission.ValidatingWebhookConfigurations().Informer(),
		"MutatingWebhookConfiguration":   admission.MutatingWebhookConfigurations().Informer(),
	} {
		if _, err := informer.AddEventHandler(w.uses(server.Name, kind)); err != nil {
			return err
		}
	}
	return nil
}

// uses reports which revision of each object an API server uses; 0 if it has observed the deletion.
func (w *World) uses(server, kind string) cache.ResourceEventHandler {
	tell := func(object any, exists bool) {
		o, is := object.(metav1.Object)
		if !is || w.Observer == nil {
			return
		}
		view := history.View{APIServer: server, Object: history.Ref{Kind: kind, Name: o.GetName(), UID: string(o.GetUID())}}
		if exists {
			view.Revision, _ = strconv.ParseInt(o.GetResourceVersion(), 10, 64) // a revision of the store
		}
		w.Observer.Uses(view)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { tell(o, true) },
		UpdateFunc: func(_, o any) { tell(o, true) },
		DeleteFunc: func(o any) { tell(o, false) },
	}
}
