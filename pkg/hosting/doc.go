// Package hosting turns handlers into a production webhook server, and puts controllers
// beside them in one binary that runs as one process or as two. It is KEP-2699, finished.
//
// An author writes a handler and registers it with a Builder:
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
// The package does the rest: TLS whose certificate is read again when its files change,
// the deadline that the API server sets, hostile bodies, panics, metrics, health, and a
// drain on SIGTERM that loses no call. docs/author/hosting.md has the flags.
package hosting
