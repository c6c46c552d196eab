package main

// platform is an operating system and an architecture, as Go names them.
type platform struct{ os, arch string }

var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// nodePlatforms are those of the nodes of clusters, and of images.
var nodePlatforms = platforms[:2]

func (p platform) String() string { return p.os + "_" + p.arch }

func (p platform) executable(program string) string {
	if p.os == "windows" {
		return program + ".exe"
	}
	return program
}

// archive is a format that the platform's users can open without further programs.
func (p platform) archive(program, version string) string {
	format := ".tar.gz"
	if p.os == "windows" {
		format = ".zip"
	}
	return program + "_" + version + "_" + p.String() + format
}
