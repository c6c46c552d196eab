package explain

import "k8s.io/apimachinery/pkg/util/version"

// firstExemptReviews is the first Kubernetes with the feature gate ExcludeAdmissionWebhookVirtualResources, which is on by
// default.
var firstExemptReviews = version.MustParseSemantic("v1.37.0")

// ReviewsAreExempt reports whether API servers of a release, such as "v1.37.1", call no webhooks for reviews of
// authentication and authorization. Of a release that it cannot parse, it assumes that they do.
func ReviewsAreExempt(release string) bool {
	parsed, err := version.ParseSemantic(release)
	return err == nil && parsed.AtLeast(firstExemptReviews)
}
