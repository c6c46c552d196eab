package page

// The fixtures for tests of the views.
var (
	Shop = shop
	Now  = now
)
