package hosting

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/httperror"
)

var conversionReviewType = metav1.TypeMeta{
	APIVersion: apiextensionsv1.SchemeGroupVersion.String(),
	Kind:       "ConversionReview",
}

func (c *converter[H]) answer(ctx context.Context, _ *Webhook, body []byte) (any, outcome, error) {
	review := apiextensionsv1.ConversionReview{}
	if err := decode(body, &review); err != nil {
		return nil, invalid, httperror.BadRequest("the body does not decode: %v", err)
	}
	if review.TypeMeta != conversionReviewType {
		return nil, invalid, httperror.BadRequest("the body is %q of %q: this webhook accepts %s of %s",
			review.Kind, review.APIVersion, conversionReviewType.Kind, conversionReviewType.APIVersion)
	}
	if review.Request == nil {
		return nil, invalid, httperror.BadRequest("the ConversionReview has no request")
	}
	if err := checkUID(review.Request.UID); err != nil {
		return nil, invalid, err
	}
	response, outcome := c.respond(ctx, review.Request)
	return &apiextensionsv1.ConversionReview{TypeMeta: review.TypeMeta, Response: response}, outcome, nil
}

func (c *converter[H]) respond(ctx context.Context, request *apiextensionsv1.ConversionRequest) (*apiextensionsv1.ConversionResponse, outcome) {
	response := &apiextensionsv1.ConversionResponse{UID: request.UID}
	objects, err := c.convertAll(ctx, request)
	if err != nil {
		response.ConvertedObjects = []runtime.RawExtension{}
		response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
		return response, refused
	}
	response.ConvertedObjects = objects
	response.Result.Status = metav1.StatusSuccess
	return response, converted
}

func (c *converter[H]) convertAll(ctx context.Context, request *apiextensionsv1.ConversionRequest) ([]runtime.RawExtension, error) {
	to, err := schema.ParseGroupVersion(request.DesiredAPIVersion)
	if err != nil {
		return nil, fmt.Errorf("request.desiredAPIVersion: %w", err)
	}
	objects := make([]runtime.RawExtension, len(request.Objects))
	for i, object := range request.Objects {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the call's deadline passed after %d of %d objects", i, len(objects))
		}
		if objects[i], err = c.convert(object, to); err != nil {
			return nil, fmt.Errorf("request.objects[%d] to %s: %w", i, to, err)
		}
		// Each object is encoded at once, so that only one is decoded at a time.
		if objects[i].Raw, err = objects[i].MarshalJSON(); err != nil {
			return nil, fmt.Errorf("request.objects[%d] to %s: cannot encode it: %w", i, to, err)
		}
		objects[i].Object = nil
	}
	return objects, nil
}
