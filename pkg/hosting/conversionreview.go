package hosting

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var conversionReviewType = metav1.TypeMeta{
	APIVersion: apiextensionsv1.SchemeGroupVersion.String(),
	Kind:       "ConversionReview",
}

// answerConversion decodes a ConversionReview and has its objects converted, all or none.
func answerConversion(
	ctx context.Context, body []byte,
	convert func(runtime.RawExtension, schema.GroupVersion) (runtime.RawExtension, error),
) (any, outcome, error) {
	review := apiextensionsv1.ConversionReview{}
	if err := decode(body, &review); err != nil {
		return nil, invalid, badRequest("the body does not decode: %v", err)
	}
	if review.TypeMeta != conversionReviewType {
		return nil, invalid, badRequest("the body is %q of %q: this webhook takes %s of %s",
			review.Kind, review.APIVersion, conversionReviewType.Kind, conversionReviewType.APIVersion)
	}
	if review.Request == nil {
		return nil, invalid, badRequest("the ConversionReview has no request")
	}
	if err := checkUID(review.Request.UID); err != nil {
		return nil, invalid, err
	}

	response, said := respondConversion(ctx, review.Request, convert)
	return &apiextensionsv1.ConversionReview{TypeMeta: review.TypeMeta, Response: response}, said, nil
}

// respondConversion says in the response what cannot be converted, and why.
func respondConversion(
	ctx context.Context, request *apiextensionsv1.ConversionRequest,
	convert func(runtime.RawExtension, schema.GroupVersion) (runtime.RawExtension, error),
) (*apiextensionsv1.ConversionResponse, outcome) {
	response := &apiextensionsv1.ConversionResponse{UID: request.UID}
	objects, err := convertAll(ctx, request, convert)
	if err != nil {
		response.ConvertedObjects = []runtime.RawExtension{}
		response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
		return response, refused
	}
	response.ConvertedObjects = objects
	response.Result.Status = metav1.StatusSuccess
	return response, converted
}

func convertAll(
	ctx context.Context, request *apiextensionsv1.ConversionRequest,
	convert func(runtime.RawExtension, schema.GroupVersion) (runtime.RawExtension, error),
) ([]runtime.RawExtension, error) {
	to, err := schema.ParseGroupVersion(request.DesiredAPIVersion)
	if err != nil {
		return nil, fmt.Errorf("request.desiredAPIVersion: %w", err)
	}
	objects := make([]runtime.RawExtension, len(request.Objects))
	for i, object := range request.Objects {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the call's deadline came after %d of %d objects", i, len(objects))
		}
		if objects[i], err = convert(object, to); err != nil {
			return nil, fmt.Errorf("request.objects[%d] to %s: %w", i, to, err)
		}
		// Encoded at once, so that no two objects are decoded at a time.
		if objects[i].Raw, err = objects[i].MarshalJSON(); err != nil {
			return nil, fmt.Errorf("request.objects[%d] to %s: it cannot be encoded: %w", i, to, err)
		}
		objects[i].Object = nil
	}
	return objects, nil
}
