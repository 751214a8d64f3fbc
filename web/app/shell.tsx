import { Outlet } from "react-router";

/** What surrounds every page of somebody who is signed in. */
export function Shell() {
  return <Outlet />;
}
