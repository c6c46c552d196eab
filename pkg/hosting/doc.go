// Package hosting serves webhooks in production, and runs controllers in the same binary, as one
// process or as two. It completes KEP-2699.
//
// Write a handler and register it with a Builder:
//
//	func main() {
//		b := hosting.NewBuilder("team-label")
//		b.RegisterWebhook("pods", hosting.Webhook{
//			Kinds:   []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")},
//			Handler: hosting.Validating(requireTeam),
//		})
//		os.Exit(b.Run())
//	}
//
//	func requireTeam(_ context.Context, r hosting.Request[*corev1.Pod]) error {
//		if r.Object.Labels["team"] == "" {
//			return hosting.Deny("pod %s has no label team: say who owns it", r.Object.Name)
//		}
//		return nil
//	}
//
// The package provides TLS with a certificate that is reloaded when its files change, the deadlines of
// API servers, limits for calls and bodies, recovery from panics, metrics, health, and a shutdown
// that loses no call. docs/author/hosting.md describes the flags.
package hosting
