// swift-tools-version:5.9
import PackageDescription

let package = Package(
    name: "hewn",
    platforms: [.macOS("@MACOS@"), .iOS("@IOS@")],
    products: [.library(name: "hewn", targets: ["hewn"])],
    targets: [
        .binaryTarget(name: "hewn", url: "@DOWNLOADS@/@ARCHIVE@", checksum: "@SHA256@")
    ]
)
