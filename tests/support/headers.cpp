// This file has no code. The target hewn_test_headers needs a source to have precompiled headers,
// which all tests use.
