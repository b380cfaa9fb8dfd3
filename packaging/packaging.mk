# packaging.mk -- the Debian package, the bill of materials, and whether a build is the same again.

VERSION := $(shell sed -n 's/^#define ANTIPHON_VERSION "\(.*\)"/\1/p' src/base/version.h)
DEB_DIR := $(CURDIR)/build/deb
# One time for everything that is built: that of the commit, or of the last release.
given_time := $(SOURCE_DATE_EPOCH)
build_time = $(or $(given_time),$(shell git -C $(CURDIR) log -1 --format=%ct 2>/dev/null),\
                  $(shell dpkg-parsechangelog -l$(CURDIR)/debian/changelog -STimestamp 2>/dev/null))

.PHONY: sbom deb deb-test reproduce
$(OUT)/sbom.spdx.json deb deb-test reproduce: export SOURCE_DATE_EPOCH = $(build_time)

sbom: $(OUT)/sbom.spdx.json ## bill of materials of the program, in build/release

$(OUT)/sbom.spdx.json: $(BIN) tools/sbom
	@tools/sbom $(BIN) $(VERSION) '$(COMMIT)' '$(if $(llhttp_sources),$(LLHTTP_DIR))' >$@

deb: ## build the Debian package, in build/deb (DEB_VERSION=... gives it another version)
	@tools/install-deps deb
	@COMMIT='$(COMMIT)' packaging/build-deb $(DEB_DIR) $(DEB_VERSION)

deb-test: ## install, upgrade and purge the package in a clean Debian 12
	@tools/install-deps deb
	@COMMIT='$(COMMIT)' tests/packaging/deb-test

reproduce: ## build program and package twice, in two places, and compare them
	@tools/install-deps deb
	@COMMIT='$(COMMIT)' packaging/reproduce
