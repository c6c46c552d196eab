package explain

import "testing"

func TestReviewsAreExempt(t *testing.T) {
	for release, want := range map[string]bool{
		"v1.36.3": false, "v1.37.0": true, "v1.37.1-gke.100": true, "v1.38.0-alpha.2": true, "v2.0.0": true, "": false, "main": false,
	} {
		if got := ReviewsAreExempt(release); got != want {
			t.Errorf("release %q: %t, want %t", release, got, want)
		}
	}
}
