package cluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationhelper "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// apiServices returns the APIServices with a Service: they are called, and fail, as webhooks do.
func (c *Cluster) apiServices(ctx context.Context) ([]doctor.Webhook, error) {
	list, err := c.Aggregator.ApiregistrationV1().APIServices().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, utilerrors.FilterOut(err, apierrors.IsNotFound) // The API server may stand alone.
	}
	var all []doctor.Webhook
	for _, a := range list.Items {
		if a.Spec.Service == nil {
			continue
		}
		w := doctor.Webhook{
			Kind: doctor.APIService, Object: a.Name, Owner: doctor.OwnerOf(a.ObjectMeta), Fails: true,
			Service: types.NamespacedName{Namespace: a.Spec.Service.Namespace, Name: a.Spec.Service.Name},
			Port:    ptr.Deref(a.Spec.Service.Port, 443), CABundle: a.Spec.CABundle, Unverified: a.Spec.InsecureSkipTLSVerify,
		}
		if c := apiregistrationhelper.GetAPIServiceConditionByType(&a, apiregistrationv1.Available); c != nil {
			w.Available, w.Report = metav1.ConditionStatus(c.Status), c.Message
		}
		all = append(all, w)
	}
	return all, nil
}
